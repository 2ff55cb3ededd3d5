-- graph_tables: which of the graph's tables are there
SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('graph_nodes', 'graph_edges', 'memory_node_links')

-- graph_tables: which of the graph's tables are there
SELECT t.name FROM (VALUES ('graph_nodes'), ('graph_edges'), ('memory_node_links')) AS t(name)
WHERE to_regclass(t.name) IS NOT NULL

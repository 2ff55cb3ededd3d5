-- Vectors that are near each other, one index for each length of the models we know: other lengths are compared one by
-- one. A vector costs an index that is there many times what it costs one that is built over all: whoever fills a
-- database drops these, and `clew migrate` builds what is missing. Our own model's has half as many neighbours as usual
-- (m): an entry costs half as much, and a search that keeps more in view finds as many (docs/performance.md).
CREATE INDEX IF NOT EXISTS memory_embeddings_256 ON memory_embeddings
  USING hnsw ((vector::halfvec(256)) halfvec_cosine_ops) WITH (m = 8) WHERE dims = 256;
CREATE INDEX IF NOT EXISTS memory_embeddings_384 ON memory_embeddings
  USING hnsw ((vector::halfvec(384)) halfvec_cosine_ops) WHERE dims = 384;
CREATE INDEX IF NOT EXISTS memory_embeddings_768 ON memory_embeddings
  USING hnsw ((vector::halfvec(768)) halfvec_cosine_ops) WHERE dims = 768;
CREATE INDEX IF NOT EXISTS memory_embeddings_1536 ON memory_embeddings
  USING hnsw ((vector::halfvec(1536)) halfvec_cosine_ops) WHERE dims = 1536;

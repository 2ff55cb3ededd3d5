-- What searching asks that the server has no word for. Replaced whenever `clew migrate` runs.

-- Rows of the org this transaction is bound to that have a term and one of the terms of their place, ascending. `@@`
-- might tell others what it is given, for all the server knows: under row-level security it would not use the index.
-- Of a memory with more terms than a tsvector takes, the rest are looked for where all of them are.
CREATE OR REPLACE FUNCTION clew_matching(asked_org text, scopes text[], term text) RETURNS SETOF bigint
STABLE SECURITY DEFINER SET search_path FROM CURRENT SET plan_cache_mode = force_custom_plan LANGUAGE plpgsql AS $$
DECLARE
  places text := '(' || array_to_string(scopes, ' | ') || ') & ';
  wanted tsquery := CAST(places || term AS tsquery);
  shortened tsquery := CAST(places || 'more' AS tsquery);
  bound text := clew_bound();
BEGIN
  IF asked_org = bound THEN
    RETURN QUERY SELECT f.memory_row FROM memory_fts f WHERE f.terms @@ wanted AND f.org_id = bound
      UNION ALL
      SELECT f.memory_row FROM memory_fts f JOIN memory_terms t ON t.org_id = f.org_id AND t.memory_row = f.memory_row
      WHERE f.terms @@ shortened AND NOT f.terms @@ wanted AND f.org_id = bound
        AND position(decode(term, 'hex') IN t.terms) > 0
      ORDER BY 1;
  END IF;
END $$;

-- Our JSON as the server's, which has no NUL: U+FFFD is in its place, as in texts. A backslash after an odd number of
-- others is no escape.
CREATE OR REPLACE FUNCTION clew_json(told text) RETURNS jsonb IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS $$
  SELECT CASE WHEN strpos(told, '\u0000') = 0 THEN told
    ELSE regexp_replace(told, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g') END::jsonb
$$;

-- A pattern of SQLite's GLOB as a regular expression; NULL for one that nothing matches. Every character is written by
-- its number, so that none has a meaning of its own.
CREATE OR REPLACE FUNCTION clew_glob(pattern text) RETURNS text IMMUTABLE STRICT LANGUAGE plpgsql AS $$
DECLARE
  codes integer[] := (
    SELECT array_agg(ascii(c.value) ORDER BY c.place)
    FROM unnest(string_to_array(pattern, NULL)) WITH ORDINALITY AS c(value, place));
  form text := '\U%s';
  found text := '';
  class text;
  sign text;
  at integer := 1;
BEGIN
  WHILE at <= coalesce(array_length(codes, 1), 0) LOOP
    IF codes[at] = ascii('*') THEN
      found := found || '.*';
    ELSIF codes[at] = ascii('?') THEN
      found := found || '.';
    ELSIF codes[at] <> ascii('[') THEN
      found := found || format(form, lpad(to_hex(codes[at]), 8, '0'));
    ELSE
      class := '';
      sign := CASE WHEN codes[at + 1] = ascii('^') THEN '^' ELSE '' END;
      at := at + 1 + length(sign);
      IF codes[at] = ascii(']') THEN -- one that comes first stands for itself
        class := '\U0000005d';
        at := at + 1;
      END IF;
      WHILE codes[at] <> ascii(']') LOOP
        class := class || format(form, lpad(to_hex(codes[at]), 8, '0'));
        IF codes[at + 1] = ascii('-') AND codes[at + 2] <> ascii(']') THEN
          IF codes[at] <= codes[at + 2] THEN -- of a range from high to low only the first counts
            class := class || '-' || format(form, lpad(to_hex(codes[at + 2]), 8, '0'));
          END IF;
          at := at + 2;
        END IF;
        at := at + 1;
      END LOOP;
      IF codes[at] IS NULL OR class || sign = '' THEN
        RETURN NULL;
      END IF;
      found := found || CASE WHEN class = '' THEN '.' ELSE '[' || sign || class || ']' END;
    END IF;
    at := at + 1;
  END LOOP;
  RETURN '^(?:' || found || ')$';
END $$;

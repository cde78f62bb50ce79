-- Item 1: names with a schema, quoted names, names with a database, names in back quotes.

-- name: schema_public_quoted
-- world: clinic
SELECT "ward", COUNT(*) AS n FROM "public"."visits" GROUP BY "ward";

-- name: plain_count
-- world: clinic
SELECT COUNT(*) FROM visits;

CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE visits AS
SELECT 1 + pick(i, 1) % 500 AS visitor_id, 9 + pick(i, 2) % 11 AS hour,
  1 + pick(i, 3) % 7 AS day, CASE WHEN i % 29 = 0 THEN NULL ELSE 10 + pick(i, 4) % 120 END AS minutes, CAST(5 + pick(i, 5) % 95 AS DOUBLE) AS money_spent
FROM range(2100) t(i);
CREATE TABLE movie_views AS
SELECT 1 + pick(i, 6) % 600 AS user_id, 1 + pick(i, 7) % 25 AS movie_id, 1 + pick(i, 8) % 5 AS rating, DATE '2004-01-01' + CAST(pick(i, 9) % 700 AS INTEGER) AS date
FROM range(4000) t(i);
CREATE TABLE movies AS SELECT i AS id, 1980 + (i * 3) % 25 AS year, 'Film ' || i AS title FROM range(1, 26) t(i);

-- Questions as SmartNoise's tests ask them, over a census sample with schema-qualified names.

-- name: count_all
-- world: pums
SELECT COUNT(*) AS c FROM PUMS.PUMS;

-- name: count_and_sum_of_age
-- world: pums
SELECT COUNT(*) AS c, SUM(age) AS age_total FROM PUMS.PUMS;

-- name: income_by_married
-- world: pums
SELECT married, AVG(income) AS income, COUNT(*) AS n FROM PUMS.PUMS GROUP BY married ORDER BY married;

-- name: people_by_sex_alias
-- world: pums
SELECT p.sex, COUNT(DISTINCT p.pid) AS people FROM PUMS.PUMS AS p GROUP BY p.sex ORDER BY p.sex;

-- name: top_educ_levels
-- world: pums
-- plain: SELECT educ, SUM(income) AS total FROM PUMS.PUMS GROUP BY educ ORDER BY total DESC LIMIT 5
SELECT TOP 5 educ, SUM(income) AS total FROM PUMS.PUMS GROUP BY educ ORDER BY total DESC;

-- name: variance_and_deviation
-- world: pums
-- plain: SELECT sex, VAR_SAMP(age) AS v, STDDEV_SAMP(age) AS s FROM PUMS.PUMS GROUP BY sex ORDER BY sex
SELECT sex, VAR(age) AS v, STDDEV(age) AS s FROM PUMS.PUMS GROUP BY sex ORDER BY sex;

-- name: std_synonym
-- world: pums
-- plain: SELECT married, STDDEV_SAMP(income) AS spread FROM PUMS.PUMS WHERE age BETWEEN 25 AND 65 GROUP BY married ORDER BY married
SELECT married, STDEV(income) AS spread FROM PUMS.PUMS WHERE age BETWEEN 25 AND 65 GROUP BY married ORDER BY married;

-- name: count_column_with_nulls
-- world: pums
SELECT race, COUNT(income) AS known, COUNT(*) AS n FROM PUMS.PUMS GROUP BY race ORDER BY race;

-- name: having_on_alias
-- world: pums
SELECT educ, COUNT(*) AS n FROM PUMS.PUMS WHERE age > 40 GROUP BY educ HAVING n > 40 ORDER BY n DESC, educ;

-- name: sub_query_of_rows
-- world: pums
SELECT sex, AVG(half) AS mean_half
FROM (SELECT sex, income / 2 AS half, age FROM PUMS.PUMS WHERE income IS NOT NULL) AS halved
WHERE age >= 30
GROUP BY sex ORDER BY sex;

-- name: income_in_thousands
-- world: pums
-- plain: SELECT CAST(FLOOR(age / 10) * 10 AS BIGINT) AS decade, SUM(income) / 1000 AS thousands FROM PUMS.PUMS WHERE age < 90 AND age >= 20 GROUP BY 1 ORDER BY 1
SELECT FLOOR(age / 10) * 10 AS decade, SUM(income) / 1000 AS thousands FROM PUMS.PUMS WHERE age < 90 AND age >= 20 GROUP BY FLOOR(age / 10) * 10 ORDER BY decade;

-- name: arithmetic_over_aggregates
-- world: pums
SELECT married, SUM(income) / COUNT(*) AS per_head, 100.0 * COUNT(income) / COUNT(*) AS percent_known FROM PUMS.PUMS GROUP BY married ORDER BY 1;

-- name: case_expression
-- world: pums
SELECT CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END AS band, COUNT(*) AS n, AVG(income) AS income
FROM PUMS.PUMS GROUP BY band ORDER BY n;

-- name: distinct_people_among_duplicates
-- world: pums
SELECT COUNT(DISTINCT pid) AS people, COUNT(*) AS n FROM PUMS.PUMS_dup;

-- name: duplicates_by_sex_and_married
-- world: pums
SELECT sex, married, COUNT(*) AS n, AVG(age) AS age FROM PUMS.PUMS_dup GROUP BY sex, married ORDER BY sex, married;

-- name: bracketed_arithmetic
-- world: pums
SELECT SUM((age - 18) * 2.5 + 1) AS weighted, COUNT(*) AS n FROM PUMS.PUMS WHERE (sex = 1 AND educ > 8) OR (sex = 0 AND NOT married);

-- name: order_by_ordinal_with_limit
-- world: pums
SELECT race, AVG(age) AS age FROM PUMS.PUMS GROUP BY race ORDER BY 2 DESC LIMIT 3;

-- name: count_big_and_alias_without_as
-- world: pums
-- plain: SELECT COUNT(*) n, COUNT(DISTINCT p.educ) levels FROM PUMS.PUMS p WHERE p.age > 30
SELECT COUNT_BIG(*) n, COUNT(DISTINCT p.educ) levels FROM PUMS.PUMS p WHERE p.age > 30;

-- name: unqualified_and_other_case
-- world: pums
SELECT SEX, Count(*) AS N FROM pums.pums WHERE INCOME > 50000 GROUP BY Sex ORDER BY sex;

-- name: quoted_names
-- world: pums
SELECT "sex", COUNT(*) AS "n of rows" FROM "PUMS"."PUMS" GROUP BY "sex" ORDER BY "sex";

-- name: nested_per_person
-- world: pums
SELECT AVG(n) AS rows_each FROM (SELECT pid, COUNT(*) AS n FROM PUMS.PUMS_dup GROUP BY pid) AS each_person;

-- name: single_people
-- world: pums
-- refused: single rows
SELECT pid, age, income FROM PUMS.PUMS WHERE age > 80;

-- name: everything
-- world: pums
-- refused: *
SELECT * FROM PUMS.PUMS;

-- name: age_extremes
-- world: pums
-- close: 0.02
SELECT MIN(age) AS youngest, MAX(age) AS oldest FROM PUMS.PUMS;

-- name: group_by_numbers_bounded_by_where
-- world: pums
SELECT age, COUNT(*) AS n FROM PUMS.PUMS WHERE age >= 20 AND age < 25 GROUP BY age ORDER BY age;

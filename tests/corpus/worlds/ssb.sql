CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE "date" AS
SELECT CAST(strftime(d, '%Y%m%d') AS INTEGER) AS d_datekey, strftime(d, '%B %-d, %Y') AS d_date, YEAR(d) AS d_year, CAST(strftime(d, '%Y%m') AS INTEGER) AS d_yearmonthnum,
  strftime(d, '%b%Y') AS d_yearmonth, 1 + (DAYOFYEAR(d) - 1) // 7 AS d_weeknuminyear, MONTH(d) AS d_monthnuminyear
FROM (SELECT CAST(DATE '1992-01-01' + INTERVAL 1 DAY * i AS DATE) AS d FROM range(2557) t(i));
CREATE TABLE part AS
SELECT i AS p_partkey, 'part ' || i AS p_name, 'MFGR#' || (1 + i % 5) AS p_mfgr, 'MFGR#' || (1 + i % 5) || (1 + (i // 5) % 5) AS p_category,
  'MFGR#' || (1 + i % 5) || (1 + (i // 5) % 5) || (20 + (i // 25) % 10) AS p_brand1, ['red', 'blue', 'pink'][1 + i % 3] AS p_color
FROM range(1, 501) t(i);
CREATE MACRO nation_of(n) AS ['CHINA', 'JAPAN', 'INDIA', 'UNITED STATES', 'CANADA', 'BRAZIL', 'UNITED KINGDOM', 'FRANCE', 'GERMANY', 'KENYA'][1 + n % 10];
CREATE MACRO region_of(n) AS ['ASIA', 'ASIA', 'ASIA', 'AMERICA', 'AMERICA', 'AMERICA', 'EUROPE', 'EUROPE', 'EUROPE', 'AFRICA'][1 + n % 10];
CREATE TABLE supplier AS
SELECT i AS s_suppkey, 'supplier ' || i AS s_name, RPAD(nation_of(i)[1:9], 9, ' ') || (1 + 4 * (i // 10 % 2)) AS s_city, nation_of(i) AS s_nation, region_of(i) AS s_region FROM range(1, 41) t(i);
CREATE TABLE customer AS
SELECT i AS c_custkey, 'customer ' || i AS c_name, RPAD(nation_of(n)[1:9], 9, ' ') || (1 + 4 * (pick(i, 2) % 2)) AS c_city, nation_of(n) AS c_nation, region_of(n) AS c_region,
  ['BUILDING', 'AUTOMOBILE', 'MACHINERY'][1 + i % 3] AS c_mktsegment
FROM (SELECT i, pick(i, 1) % 10 AS n FROM range(1, 501) t(i));
CREATE TABLE lineorder AS
SELECT 1 + i // 3 AS lo_orderkey, 1 + i % 3 AS lo_linenumber, 1 + pick(i // 3, 1) % 480 AS lo_custkey, 1 + pick(i, 2) % 500 AS lo_partkey, 1 + pick(i, 3) % 40 AS lo_suppkey,
  CAST(strftime(DATE '1992-01-01' + CAST(pick(i // 3, 4) % 2557 AS INTEGER), '%Y%m%d') AS INTEGER) AS lo_orderdate, 1 + pick(i, 5) % 50 AS lo_quantity,
  (1 + pick(i, 5) % 50) * (900 + pick(i, 6) % 1100) AS lo_extendedprice, pick(i, 7) % 11 AS lo_discount,
  (1 + pick(i, 5) % 50) * (900 + pick(i, 6) % 1100) * (100 - pick(i, 7) % 11) // 100 AS lo_revenue, 600 + pick(i, 8) % 500 AS lo_supplycost
FROM range(9000) t(i);

CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE region AS
SELECT i AS r_regionkey, ['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'][1 + i] AS r_name, 'remark ' || i AS r_comment FROM range(5) t(i);
CREATE TABLE nation AS
SELECT i AS n_nationkey,
  ['ALGERIA', 'ARGENTINA', 'BRAZIL', 'CANADA', 'EGYPT', 'ETHIOPIA', 'FRANCE', 'GERMANY', 'INDIA', 'INDONESIA', 'IRAN', 'IRAQ', 'JAPAN', 'JORDAN', 'KENYA',
   'MOROCCO', 'MOZAMBIQUE', 'PERU', 'CHINA', 'ROMANIA', 'SAUDI ARABIA', 'VIETNAM', 'RUSSIA', 'UNITED KINGDOM', 'UNITED STATES'][1 + i] AS n_name,
  [0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1][1 + i] AS n_regionkey, 'remark ' || i AS n_comment
FROM range(25) t(i);
CREATE TABLE supplier AS
SELECT i AS s_suppkey, 'Supplier#' || LPAD(CAST(i AS VARCHAR), 9, '0') AS s_name, 'Street ' || i AS s_address, CASE WHEN i <= 25 THEN i % 25 ELSE [2, 6, 7, 8, 12, 18, 20][1 + i % 7] END AS s_nationkey,
  (10 + i % 25) || '-' || (100 + i * 7 % 900) || '-555-' || (1000 + i * 37) AS s_phone, CAST((i * 7919) % 11000 - 1000 AS DOUBLE) AS s_acctbal,
  CASE WHEN i % 9 = 0 THEN 'slow Customer, many Complaints' ELSE 'fine ' || i END AS s_comment
FROM range(1, 51) t(i);
CREATE TABLE part AS
SELECT i AS p_partkey, ['almond', 'green', 'blue', 'forest', 'lace'][1 + i % 5] || ' ' || ['green', 'rose', 'navy', 'peru'][1 + (i // 3) % 4] AS p_name,
  'Manufacturer#' || (1 + i % 5) AS p_mfgr, 'Brand#' || [12, 23, 34, 45, 11][1 + (i // 2) % 5] AS p_brand,
  ['ECONOMY ANODIZED STEEL', 'PROMO BRUSHED COPPER', 'STANDARD POLISHED TIN', 'SMALL PLATED BRASS', 'MEDIUM POLISHED NICKEL', 'LARGE BRUSHED STEEL', 'PROMO ANODIZED BRASS'][1 + (i * 3) % 7] AS p_type,
  [49, 14, 23, 45, 19, 3, 36, 9, 15, 4, 2, 1, 5, 8, 12][1 + (i * 7) % 15] AS p_size,
  ['SM CASE', 'SM BOX', 'SM PACK', 'SM PKG', 'MED BAG', 'MED BOX', 'MED PKG', 'MED PACK', 'LG CASE', 'LG BOX', 'LG PACK', 'LG PKG', 'JUMBO JAR'][1 + (i * 5) % 13] AS p_container,
  900 + CAST((i * 97) % 1200 AS DOUBLE) AS p_retailprice, 'remark ' || i AS p_comment
FROM range(1, 201) t(i);
CREATE TABLE partsupp AS
SELECT i AS ps_partkey, 1 + (i * 3 + k * 13) % 50 AS ps_suppkey, (i * 131 + k * 17) % 9999 AS ps_availqty, CAST(1 + (i * 71 + k * 29) % 999 AS DOUBLE) AS ps_supplycost, 'remark' AS ps_comment
FROM range(1, 201) t(i), range(4) s(k);
CREATE TABLE customer AS
SELECT i AS c_custkey, 'Customer#' || LPAD(CAST(i AS VARCHAR), 9, '0') AS c_name, 'Street ' || i AS c_address, n AS c_nationkey, (10 + n) || '-' || (100 + i * 7 % 900) || '-555-' || (1000 + i * 3) AS c_phone, CAST((i * 6007) % 10999 - 999 AS DOUBLE) AS c_acctbal,
  ['BUILDING', 'AUTOMOBILE', 'MACHINERY', 'HOUSEHOLD', 'FURNITURE'][1 + i % 5] AS c_mktsegment, 'remark ' || i AS c_comment
FROM (SELECT i, CASE WHEN i % 2 = 0 THEN pick(i, 1) % 25 ELSE [2, 3, 6, 7, 8, 12, 13, 19, 20, 21][1 + pick(i, 1) % 10] END AS n FROM range(1, 901) t(i));
CREATE TABLE orders AS
SELECT row_number() OVER (ORDER BY c, k) AS o_orderkey, c AS o_custkey, ['O', 'F', 'P'][1 + (c + k) % 3] AS o_orderstatus, 0.0::DOUBLE AS o_totalprice,
  DATE '1992-01-01' + CAST(pick(c * 10 + k, 2) % 2405 AS INTEGER) AS o_orderdate, ['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'][1 + (c * 3 + k) % 5] AS o_orderpriority,
  'Clerk#' || LPAD(CAST((c * k) % 100 AS VARCHAR), 9, '0') AS o_clerk, 0 AS o_shippriority,
  CASE WHEN k = 1 AND c % 2 = 0 THEN 'wake the special packages; requests sleep' ELSE 'plain remark' END AS o_comment
FROM range(1, 901) t(c), range(1, 10) s(k) WHERE c % 3 <> 0 AND c % 7 <> 0 AND k <= 4 + c % 5;
CREATE TABLE lineitem AS
SELECT o_orderkey AS l_orderkey, p AS l_partkey, 1 + (p * 3 + h % 4 * 13) % 50 AS l_suppkey, n AS l_linenumber, CAST(1 + (h * 7) % 50 AS DOUBLE) AS l_quantity,
  CAST(1 + (h * 7) % 50 AS DOUBLE) * (900 + (p * 97) % 1200) AS l_extendedprice, (h % 11) / 100 AS l_discount, (h // 11 % 9) / 100 AS l_tax,
  CASE WHEN o_orderdate > DATE '1995-06-17' THEN 'N' WHEN h % 2 = 0 THEN 'R' ELSE 'A' END AS l_returnflag,
  CASE WHEN o_orderdate + CAST(1 + h % 121 AS INTEGER) > DATE '1995-06-17' THEN 'O' ELSE 'F' END AS l_linestatus,
  o_orderdate + CAST(1 + h % 121 AS INTEGER) AS l_shipdate, o_orderdate + CAST(30 + h % 61 AS INTEGER) AS l_commitdate,
  o_orderdate + CAST(1 + h % 121 + 1 + h % 30 AS INTEGER) AS l_receiptdate,
  ['DELIVER IN PERSON', 'NONE', 'DELIVER IN PERSON', 'COLLECT COD', 'TAKE BACK RETURN'][1 + h % 5] AS l_shipinstruct,
  ['AIR', 'MAIL', 'SHIP', 'AIR REG', 'TRUCK', 'RAIL', 'FOB'][1 + (h // 5) % 7] AS l_shipmode, 'remark' AS l_comment
FROM (SELECT o_orderkey, o_orderdate, n, 1 + pick(o_orderkey * 4 + n, 3) % 200 AS p, pick(o_orderkey * 4 + n, 4) AS h
      FROM orders, range(1, 5) s(n) WHERE n <= 2 + o_orderkey % 3);
UPDATE orders SET o_totalprice = (SELECT ROUND(SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)), 2) FROM lineitem WHERE l_orderkey = o_orderkey);

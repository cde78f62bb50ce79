-- Item 15: names without quotes are found in any case, quoted ones exactly.

-- name: lower_case
-- world: shop
select country, count(*) as n from customers group by country;

-- name: upper_case
-- world: shop
SELECT COUNTRY, COUNT(*) AS N FROM CUSTOMERS GROUP BY COUNTRY ORDER BY COUNTRY;

-- name: mixed_case
-- world: shop
SELECT cHANNEL, Sum(quantity) AS Units FROM oRDERS GROUP BY Channel;

-- name: quoted_exactly
-- world: shop
SELECT "Country", COUNT(*) AS "N" FROM "Customers" GROUP BY "Country";

-- name: quoted_name_with_a_blank
-- world: shop
SELECT Channel, AVG("Unit Price") AS price FROM Orders GROUP BY Channel;

-- name: quoted_word_of_sql
-- world: shop
SELECT "order", COUNT(*) AS n FROM Orders GROUP BY "order" ORDER BY "order";

-- name: aliases_in_another_case
-- world: shop
SELECT C.country AS Place, COUNT(*) AS n FROM Customers c WHERE c.SEGMENT = 'Consumer' GROUP BY place ORDER BY PLACE;

-- name: alias_of_an_aggregate_in_another_case
-- world: shop
SELECT Channel, COUNT(*) AS Total FROM Orders GROUP BY channel HAVING total > 10 ORDER BY TOTAL DESC;

-- name: cte_in_another_case
-- world: shop
WITH Big AS (SELECT * FROM Orders WHERE Quantity > 6) SELECT channel, COUNT(*) AS n FROM BIG GROUP BY channel;

-- name: join_in_another_case
-- world: shop
SELECT P.CATEGORY, C.COUNTRY, SUM(O.QUANTITY) AS UNITS
FROM ORDERS O JOIN CUSTOMERS C ON O.CUSTOMERID = C.CUSTOMERID JOIN PRODUCTS P ON P.PRODUCTID = O.PRODUCTID
GROUP BY P.CATEGORY, C.COUNTRY
ORDER BY P.CATEGORY, C.COUNTRY;

-- name: using_in_another_case
-- world: shop
SELECT segment, COUNT(*) AS n FROM orders JOIN customers USING (customerid) GROUP BY segment;

-- name: table_name_before_a_column
-- world: shop
SELECT ORDERS.channel, COUNT(DISTINCT orders.CUSTOMERID) AS people FROM Orders GROUP BY orders.Channel;

-- name: functions_in_any_case
-- world: shop
SELECT Year(orderdate) AS y, cOuNt(*) AS n FROM Orders GROUP BY yEAR(OrderDate) ORDER BY y;

-- name: quoted_alias_keeps_its_case
-- world: shop
SELECT Country AS "COUNTRY", COUNT(*) AS "Number of People" FROM Customers GROUP BY "Country";

-- name: quoted_table_in_another_case
-- world: shop
-- refused: customers
SELECT COUNT(*) AS n FROM "customers";

-- name: quoted_column_in_another_case
-- world: shop
-- refused: COUNTRY
SELECT "COUNTRY", COUNT(*) AS n FROM Customers GROUP BY "COUNTRY";

-- name: alias_of_a_table_in_another_case
-- world: shop
SELECT O.Channel, SUM(o.QUANTITY) AS units FROM Orders AS o GROUP BY O.CHANNEL ORDER BY Units DESC;

-- name: group_by_an_alias_in_another_case
-- world: shop
SELECT YEAR(OrderDate) AS OrderYear, COUNT(*) AS n FROM Orders GROUP BY orderyear ORDER BY ORDERYEAR;

-- name: names_of_columns_are_the_declared_ones
-- world: shop
SELECT SEGMENT, country, COUNT(*) FROM customers GROUP BY COUNTRY, segment;

-- name: quoted_name_in_a_sub_query
-- world: shop
SELECT t."Price", COUNT(*) AS n FROM (SELECT "Unit Price" > 250 AS "Price" FROM "Orders") AS t GROUP BY t."Price";

-- name: quoted_alias_in_another_case
-- world: shop
-- refused: request
SELECT t."price" FROM (SELECT COUNT(*) AS "Price" FROM "Orders") AS t;

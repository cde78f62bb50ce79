-- 300 customers with 0 to 7 orders each; customers whose number is a multiple of 8 have none.
CREATE TABLE "Customers" AS
SELECT
    i AS "CustomerID",
    CASE i % 5 WHEN 0 THEN 'Chile' WHEN 1 THEN 'Chile' WHEN 2 THEN 'Ghana' ELSE 'Nepal' END AS "Country",
    CASE (i * 3) % 7 WHEN 0 THEN 'Corporate' WHEN 1 THEN 'Corporate' WHEN 2 THEN 'Home Office' ELSE 'Consumer' END AS "Segment",
    DATE '2020-01-01' + CAST((i * 41) % 1000 AS INTEGER) AS "First Order"
FROM generate_series(1, 300) AS s(i);

CREATE TABLE "Orders" AS
SELECT
    row_number() OVER (ORDER BY i, j) AS "OrderID",
    i AS "CustomerID",
    DATE '2020-01-01' + CAST((i * 41 + j * 61) % 1440 AS INTEGER) AS "OrderDate",
    1 + (i * 11 + j * 3) % 18 AS "ProductID",
    1 + (i + j * 5) % 12 AS "Quantity",
    5 + ((i * 17 + j * 7) % 480) / 1.0::DOUBLE AS "Unit Price",
    (i + j) % 10 AS "order",
    CASE (i + 2 * j) % 4 WHEN 0 THEN 'store' WHEN 1 THEN 'phone' ELSE 'web' END AS "Channel"
FROM generate_series(1, 300) AS c(i), generate_series(1, 7) AS o(j)
WHERE j <= (i * 5) % 8;

CREATE TABLE "Products" AS
SELECT
    i AS "ProductID",
    'Product ' || i AS "ProductName",
    CASE i % 3 WHEN 0 THEN 'Chairs' WHEN 1 THEN 'Lamps' ELSE 'Tables' END AS "Category",
    10.0::DOUBLE * i AS "ListPrice"
FROM generate_series(1, 20) AS s(i);

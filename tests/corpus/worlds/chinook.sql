CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE Genre AS SELECT i AS GenreId, ['Rock', 'Jazz', 'Metal', 'Latin', 'Blues', 'Opera'][i] AS Name FROM range(1, 7) t(i);
CREATE TABLE MediaType AS SELECT i AS MediaTypeId, ['MPEG audio file', 'AAC audio file', 'Purchased AAC'][i] AS Name FROM range(1, 4) t(i);
CREATE TABLE Artist AS SELECT i AS ArtistId, 'Artist ' || LPAD(CAST(i AS VARCHAR), 2, '0') AS Name FROM range(1, 21) t(i);
CREATE TABLE Album AS SELECT i AS AlbumId, 'Album ' || LPAD(CAST(i AS VARCHAR), 2, '0') AS Title, 1 + pick(i, 1) % 18 AS ArtistId FROM range(1, 41) t(i);
CREATE TABLE Track AS
SELECT i AS TrackId, 'Track ' || LPAD(CAST(i AS VARCHAR), 3, '0') AS Name, 1 + pick(i, 2) % 40 AS AlbumId, 1 + pick(i, 3) % 3 AS MediaTypeId, 1 + (pick(i, 4) % 25) // 5 AS GenreId,
  CASE WHEN i % 9 = 0 THEN NULL ELSE 'Composer ' || (i % 7) END AS Composer, 120000 + pick(i, 5) % 300000 AS Milliseconds, CASE WHEN i % 10 = 0 THEN 1.99 ELSE 0.99 END AS UnitPrice
FROM range(1, 301) t(i);
CREATE TABLE Employee AS
SELECT * FROM (VALUES (3, 'Jane', 'Peacock', 'Sales Support Agent'), (4, 'Margaret', 'Park', 'Sales Support Agent'), (5, 'Steve', 'Johnson', 'Sales Support Agent'), (6, 'Michael', 'Mitchell', 'IT Manager')) t(EmployeeId, FirstName, LastName, Title);
CREATE TABLE Customer AS
SELECT i AS CustomerId, 'First' || i AS FirstName, 'Last' || i AS LastName, CASE WHEN pick(i, 6) % 4 = 0 THEN 'Company ' || i END AS Company, 'City ' || (pick(i, 7) % 15) AS City,
  ['USA', 'USA', 'USA', 'Canada', 'Brazil', 'France', 'Germany', 'Norway'][1 + pick(i, 8) % 8] AS Country, 'c' || i || '@mail.example' AS Email, 3 + pick(i, 9) % 3 AS SupportRepId
FROM range(1, 401) t(i);
CREATE TABLE Invoice AS
SELECT i AS InvoiceId, c AS CustomerId, TIMESTAMP '2009-01-01 00:00:00' + INTERVAL 1 DAY * (pick(i, 11) % 1825) AS InvoiceDate, Country AS BillingCountry, 0.0::DOUBLE AS Total
FROM (SELECT i, 1 + pick(i, 10) % 370 AS c FROM range(1, 1501) t(i)) JOIN Customer ON CustomerId = c;
CREATE TABLE InvoiceLine AS
SELECT i AS InvoiceLineId, 1 + pick(i, 12) % 1500 AS InvoiceId, TrackId, CAST(UnitPrice AS DOUBLE) AS UnitPrice, 1 + pick(i, 14) % 2 AS Quantity
FROM (SELECT i, 1 + pick(i, 13) % 290 AS t FROM range(1, 5001) t(i)) JOIN Track ON TrackId = t;
UPDATE Invoice SET Total = COALESCE((SELECT ROUND(SUM(UnitPrice * Quantity), 2) FROM InvoiceLine l WHERE l.InvoiceId = Invoice.InvoiceId), 0);

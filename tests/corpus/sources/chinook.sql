-- Questions as exercises over the Chinook music shop ask them.

-- name: customers_by_country
-- world: chinook
SELECT Country, COUNT(*) AS NumberOfCustomers FROM Customer GROUP BY Country ORDER BY NumberOfCustomers DESC;

-- name: countries
-- world: chinook
SELECT DISTINCT BillingCountry FROM Invoice ORDER BY BillingCountry;

-- name: sales_by_year
-- world: chinook
SELECT EXTRACT(YEAR FROM InvoiceDate) AS Year, COUNT(InvoiceId) AS Invoices, SUM(Total) AS Sales FROM Invoice GROUP BY EXTRACT(YEAR FROM InvoiceDate) ORDER BY Year;

-- name: sales_by_year_as_text
-- world: chinook
SELECT STRFTIME(InvoiceDate, '%Y') AS Year, SUM(Total) AS Sales FROM Invoice GROUP BY STRFTIME(InvoiceDate, '%Y') ORDER BY Year;

-- name: sales_by_agent
-- world: chinook
SELECT e.FirstName || ' ' || e.LastName AS Agent, SUM(i.Total) AS Sales
FROM Invoice i JOIN Customer c ON i.CustomerId = c.CustomerId JOIN Employee e ON c.SupportRepId = e.EmployeeId
GROUP BY e.EmployeeId, e.FirstName, e.LastName
ORDER BY Sales DESC;

-- name: customers_of_each_agent
-- world: chinook
-- plain: SELECT e.LastName, COUNT(c.CustomerId) AS Customers FROM Employee e INNER JOIN Customer c ON c.SupportRepId = e.EmployeeId GROUP BY e.EmployeeId, e.LastName ORDER BY e.LastName
SELECT e.LastName, COUNT(c.CustomerId) AS Customers FROM Employee e INNER JOIN Customer c ON c.SupportRepId = e.EmployeeId GROUP BY e.EmployeeId ORDER BY e.LastName;

-- name: quantity_by_genre
-- world: chinook
SELECT g.Name AS Genre, SUM(il.Quantity) AS Sold
FROM InvoiceLine il JOIN Track t ON il.TrackId = t.TrackId JOIN Genre g ON t.GenreId = g.GenreId
GROUP BY g.Name
ORDER BY Sold DESC;

-- name: genre_share
-- world: chinook
WITH sold AS (SELECT g.Name AS Genre, SUM(il.Quantity) AS n FROM InvoiceLine il JOIN Track t USING (TrackId) JOIN Genre g USING (GenreId) GROUP BY g.Name)
SELECT Genre, n, 100.0 * n / (SELECT SUM(n) FROM sold) AS Percent FROM sold ORDER BY Genre;

-- name: best_selling_artists
-- world: chinook
SELECT ar.Name, SUM(il.UnitPrice * il.Quantity) AS Earned
FROM InvoiceLine il, Track t, Album al, Artist ar
WHERE il.TrackId = t.TrackId AND t.AlbumId = al.AlbumId AND al.ArtistId = ar.ArtistId
GROUP BY ar.Name
ORDER BY Earned DESC
LIMIT 3;

-- name: best_country
-- world: chinook
SELECT BillingCountry, ROUND(SUM(Total), 2) AS TotalSales FROM Invoice GROUP BY BillingCountry ORDER BY TotalSales DESC LIMIT 1;

-- name: average_invoice_by_country
-- world: chinook
SELECT "BillingCountry", AVG("Total") AS "Average total" FROM "Invoice" GROUP BY "BillingCountry" HAVING COUNT(*) > 150 ORDER BY "BillingCountry";

-- name: lines_per_media_type
-- world: chinook
SELECT m.Name AS "Media type", COUNT(*) AS Lines FROM InvoiceLine il JOIN Track t ON t.TrackId = il.TrackId JOIN MediaType m ON m.MediaTypeId = t.MediaTypeId GROUP BY m.Name ORDER BY Lines DESC;

-- name: companies_and_people
-- world: chinook
SELECT CASE WHEN Company IS NULL THEN 'Individual' ELSE 'Company' END AS Kind, COUNT(*) AS Customers FROM Customer GROUP BY Kind ORDER BY Kind;

-- name: spent_per_customer_on_average
-- world: chinook
SELECT Country, AVG(Spent) AS AverageSpent
FROM (SELECT c.CustomerId, c.Country, SUM(i.Total) AS Spent FROM Customer c JOIN Invoice i ON c.CustomerId = i.CustomerId GROUP BY c.CustomerId, c.Country) AS s
GROUP BY Country ORDER BY Country;

-- name: tracks_per_genre
-- world: chinook
SELECT g.Name, COUNT(t.TrackId) AS Tracks FROM Genre g LEFT JOIN Track t ON t.GenreId = g.GenreId GROUP BY g.Name ORDER BY g.Name;

-- name: customers_who_buy_jazz
-- world: chinook
SELECT c.Country, COUNT(DISTINCT c.CustomerId) AS Customers
FROM Customer c JOIN Invoice i ON c.CustomerId = i.CustomerId JOIN InvoiceLine il ON i.InvoiceId = il.InvoiceId
WHERE il.TrackId IN (SELECT TrackId FROM Track WHERE GenreId = (SELECT GenreId FROM Genre WHERE Name = 'Jazz'))
GROUP BY c.Country ORDER BY c.Country;

-- name: running_total_of_months
-- world: chinook
SELECT DATE_TRUNC('month', InvoiceDate) AS Month, SUM(Total) AS Sales, SUM(SUM(Total)) OVER (ORDER BY DATE_TRUNC('month', InvoiceDate)) AS Running
FROM Invoice WHERE InvoiceDate >= TIMESTAMP '2012-01-01 00:00:00' AND InvoiceDate < TIMESTAMP '2013-01-01 00:00:00' GROUP BY DATE_TRUNC('month', InvoiceDate) ORDER BY Month;

-- name: customers_without_invoices
-- world: chinook
SELECT COUNT(*) AS Silent FROM Customer WHERE CustomerId NOT IN (SELECT CustomerId FROM Invoice);

-- name: customers_by_name
-- world: chinook
-- refused: single rows
SELECT FirstName, LastName, Email FROM Customer WHERE Country = 'Brazil' ORDER BY LastName;

-- name: best_customer
-- world: chinook
-- refused: CustomerId
SELECT c.CustomerId, SUM(i.Total) AS Spent FROM Customer c JOIN Invoice i ON c.CustomerId = i.CustomerId GROUP BY c.CustomerId ORDER BY Spent DESC LIMIT 1;

-- name: lines_of_an_invoice
-- world: chinook
SELECT COUNT(*) AS Lines, SUM(Quantity) AS Items FROM InvoiceLine WHERE InvoiceId BETWEEN 100 AND 400;

import { expect, test } from "bun:test"
import { unreachedIn, unresolvedName } from "./host-words.ts"

// What programs in many languages print about a name; "" where they do not print the name itself.
test.each([
  ["dial tcp: lookup db on 10.43.0.10:53: no such host", "db"],
  ["dial tcp: lookup db on 10.43.0.10:53: server misbehaving", "db"],
  ["Error: getaddrinfo ENOTFOUND db", "db"],
  ["PDO::__construct(): php_network_getaddresses: getaddrinfo for db failed: Name or service not known", "db"],
  ["php_network_getaddresses: getaddrinfo failed: Name or service not known", ""],
  ["failed to lookup address information: Name or service not known", ""],
  ["socket.rb:227:in `getaddrinfo': getaddrinfo: Name or service not known (SocketError)", ""],
  ["Failed to open TCP connection to db:80 (getaddrinfo: Name or service not known) (SocketError)", "db"],
  ["redis.exceptions.ConnectionError: Error -2 connecting to db:6379. Name or service not known.", "db"],
  ["socket.gaierror: [Errno -2] Name or service not known", ""],
  ["socket.gaierror: Name or service not known", ""],
  ["Failed to resolve 'db' ([Errno -2] Name or service not known)", "db"],
  ["** (DBConnection.ConnectionError) tcp connect (db:5432): non-existing domain - :nxdomain", "db"],
  ['{failed_connect,[{to_address,{"db",80}},{inet,[inet],nxdomain}]}', "db"],
  ["System.Net.Http.HttpRequestException: Name or service not known (db:80)", "db"],
  ["ERROR 2005 (HY000): Unknown MySQL server host 'db' (-2)", "db"],
  ["Couldn't resolve server db:9092 from bootstrap.servers as DNS resolution failed for db", "db"],
  ["ssh: Could not resolve hostname db: Name or service not known", "db"],
  ["ping: db: Name or service not known", "db"],
  ["java.net.UnknownHostException: db: Name or service not known", "db"],
  ['nginx: [emerg] host not found in upstream "db" in /etc/nginx/conf.d/default.conf:5', "db"],
  ["connection refused", undefined],
])("%s has the name %p", (line, name) => {
  expect(unresolvedName(line)).toBe(name)
})

// What programs print about a connection, and what it tells of it.
test.each([
  ["dial tcp 10.43.0.7:5432: connect: connection refused", "10.43.0.7", 5432, true],
  ["connect ETIMEDOUT 10.43.8.8:443", "10.43.8.8", 443, false],
  ["** (DBConnection.ConnectionError) tcp connect (db:5432): connection refused - :econnrefused", "db", 5432, true],
  ["System.Net.Http.HttpRequestException: Connection refused (db:80)", "db", 80, true],
  ["ERROR 2003 (HY000): Can't connect to MySQL server on 'db:3306' (111)", "db", 3306, true],
  ["(2003, \"Can't connect to MySQL server on 'db' ([Errno 111] Connection refused)\")", "db", undefined, true],
  ["ERROR 2003 (HY000): Can't connect to MySQL server on 'db:3306' (110)", "db", 3306, false],
  ["Error: P1001: Can't reach database server at `db:5432`", "db", 5432, false],
  [
    "Connection to node -1 (db/10.43.9.9:9092) could not be established. Broker may not be available.",
    "db",
    9092,
    false,
  ],
  ["wget: can't connect to remote host (10.43.0.7): Connection refused", "10.43.0.7", undefined, true],
])("%s is about %s:%p", (line, host, port, refused) => {
  expect(unreachedIn(line)[0]).toEqual({ host, port, refused })
})

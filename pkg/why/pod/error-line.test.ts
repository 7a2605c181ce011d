import { expect, test } from "bun:test"
import { errorLine } from "./error-line.ts"

/** What programs print when they end, and the line of it that tells why. */
const LOGS: readonly { readonly title: string; readonly log: string; readonly tells: string }[] = [
  {
    title: "Node.js, with properties of the error and the version at the end",
    log: `node:internal/modules/cjs/loader:1144
  throw err;
  ^
Error: Cannot find module '/app/server.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1141:15)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}
Node.js v20.11.0`,
    tells: "Error: Cannot find module '/app/server.js'",
  },
  {
    title: "Python, in a server that then says that it ends",
    log: `[2026-01-01 00:00:00 +0000] [7] [ERROR] Exception in worker process
Traceback (most recent call last):
  File "/usr/lib/gunicorn/arbiter.py", line 609, in spawn_worker
    worker.init_process()
ModuleNotFoundError: No module named 'app'
[2026-01-01 00:00:00 +0000] [7] [INFO] Worker exiting (pid: 7)
[2026-01-01 00:00:00 +0000] [1] [ERROR] Worker (pid:7) exited with code 3
[2026-01-01 00:00:00 +0000] [1] [ERROR] Reason: Worker failed to boot.`,
    tells: "ModuleNotFoundError: No module named 'app'",
  },
  {
    title: "Go",
    log: `panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x482a3c]
goroutine 1 [running]:
main.(*Server).Run(0xc000010000)
	/app/main.go:10 +0x1c
exit status 2`,
    tells: "panic: runtime error: invalid memory address or nil pointer dereference",
  },
  {
    title: "Go, with the flags that there are",
    log: `flag provided but not defined: -prot
Usage of /server:
  -port int
    	port (default 8080)`,
    tells: "flag provided but not defined: -prot",
  },
  {
    title: "Rust",
    log: `thread 'main' panicked at src/main.rs:2:5:
called \`Result::unwrap()\` on an \`Err\` value: ConfigMissing
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace`,
    tells: "called `Result::unwrap()` on an `Err` value: ConfigMissing",
  },
  {
    title: "Ruby",
    log: `/app/x.rb:1:in 'require': cannot load such file -- sinatra (LoadError)
	from /app/x.rb:1:in '<main>'`,
    tells: "/app/x.rb:1:in 'require': cannot load such file -- sinatra (LoadError)",
  },
  {
    title: ".NET",
    log: `Unhandled exception. System.IO.FileNotFoundException: Could not find file '/app/appsettings.json'.
File name: '/app/appsettings.json'
   at Program.<Main>(String[] args)`,
    tells: "Unhandled exception. System.IO.FileNotFoundException: Could not find file '/app/appsettings.json'.",
  },
  {
    title: "Java, whose last cause is the first one",
    log: `Exception in thread "main" java.lang.IllegalStateException: cannot start
	at com.example.Main.main(Main.java:5)
Caused by: java.lang.NullPointerException: "url" is null
	at com.example.Db.<init>(Db.java:9)
	... 1 more`,
    tells: 'Caused by: java.lang.NullPointerException: "url" is null',
  },
  {
    title: "Spring Boot, which explains itself",
    log: `***************************
APPLICATION FAILED TO START
***************************
Description:
Failed to configure a DataSource: 'url' attribute is not specified.
Reason: Failed to determine a suitable driver class
Action:
Consider the following:
	If you want an embedded database (H2, HSQL or Derby), please put it on the classpath.`,
    tells: "Failed to configure a DataSource: 'url' attribute is not specified.",
  },
  {
    title: "Elixir",
    log: `** (Mix) Could not start application shop: exited in: Shop.start(:normal, [])
    ** (EXIT) an exception was raised:
        ** (ArgumentError) missing SECRET_KEY_BASE
            (shop 0.1.0) lib/shop.ex:5: Shop.start/2`,
    tells: "        ** (ArgumentError) missing SECRET_KEY_BASE",
  },
  {
    title: "PHP",
    log: `PHP Fatal error:  Uncaught PDOException: SQLSTATE[HY000] [1049] Unknown database in /app/db.php:3
Stack trace:
#0 /app/db.php(3): PDO->__construct('mysql:host=db')
#1 {main}
  thrown in /app/db.php on line 3`,
    tells: "PHP Fatal error:  Uncaught PDOException: SQLSTATE[HY000] [1049] Unknown database in /app/db.php:3",
  },
  {
    title: "npm",
    log: `npm ERR! code ENOENT
npm ERR! syscall open
npm ERR! enoent ENOENT: no such file or directory, open '/app/package.json'
npm ERR! enoent This is related to npm not being able to find a file.
npm ERR! enoent
npm ERR! A complete log of this run can be found in:
npm ERR!     /root/.npm/_logs/debug.log`,
    tells: "npm ERR! enoent ENOENT: no such file or directory, open '/app/package.json'",
  },
  {
    title: "a database that lists what it needs",
    log: `2026-01-01 00:00:00+00:00 [ERROR] [Entrypoint]: Database is uninitialized and password option is not specified
    You need to specify one of the following as an environment variable:
    - MYSQL_ROOT_PASSWORD`,
    tells:
      "2026-01-01 00:00:00+00:00 [ERROR] [Entrypoint]: Database is uninitialized and password option is not specified",
  },
  { title: "one line", log: "starting\nno licence", tells: "no licence" },
  {
    title: "an error after which the program went on",
    log: "Error: no cache\nserving without a cache\nno licence",
    tells: "no licence",
  },
  { title: "only that it ends", log: "starting\nFATAL worker exited", tells: "FATAL worker exited" },
  { title: "only a stack", log: "    at a (/a.js:1:1)\n    at b (/b.js:1:1)", tells: "    at b (/b.js:1:1)" },
]

test.each([...LOGS])("the line that tells the error is found in the log of $title", ({ log, tells }) => {
  expect(errorLine(log.split("\n"))).toBe(tells)
})

test("a log without lines tells no error", () => {
  expect(errorLine([])).toBeUndefined()
})

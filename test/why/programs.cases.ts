import { deployment, type Situation } from "./situation.fixtures.ts"

const one = `{containers: [{name: c, image: "app:1"}]}`
const web = deployment("web", one)

/** A program that ends with these last words. */
const says = (exitCode: number, ...logs: string[]) => ({
  nodes: 1,
  images: { "app:1": { runsMs: 100, exitCode, logs } },
})
/** A program that the runtime cannot start. */
const startError = (message: string) => ({
  nodes: 1,
  images: {
    "app:1": {
      startError: `OCI runtime create failed: runc create failed: unable to start container process: ${message}: unknown`,
    },
  },
})

const CONF = `
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {DATABASE_URI: "postgres://db", settings.yaml: x}
`

interface Program {
  readonly title: string
  readonly options: NonNullable<Situation["options"]>
  readonly cause: string
  readonly says: RegExp
  readonly yaml?: string
}

const PROGRAMS: readonly Program[] = [
  {
    title: "a working directory that the image's user may not enter",
    options: startError(
      'error during container init: chdir to cwd ("/srv/app") set in config.json failed: permission denied',
    ),
    cause: "working-directory",
    says: /its working directory \/srv\/app cannot be entered: its user may not/,
  },
  {
    title: "a user that the image does not have",
    options: startError("unable to find user app: no matching entries in passwd file"),
    cause: "user-missing",
    says: /its image has no user "app"/,
  },
  {
    title: "a script that is not executable",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", command: [/entrypoint.sh]}]}`),
    options: startError('error during container init: exec: "/entrypoint.sh": permission denied'),
    cause: "command-not-executable",
    says: /"\/entrypoint\.sh" may not be executed/,
  },
  {
    title: "a script with Windows line ends",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", command: [/entrypoint.sh]}]}`),
    options: startError("error during container init: exec /entrypoint.sh: no such file or directory"),
    cause: "interpreter-missing",
    says: /\/entrypoint\.sh is there, and what runs it is not/,
  },
  {
    title: "a program of another processor, of which only the log tells",
    options: says(255, "exec /usr/local/bin/docker-entrypoint.sh: exec format error"),
    cause: "image-platform",
    says: /for another processor/,
  },
  {
    title: "a node whose limit of file watches is used up, which programs call a lack of space",
    options: says(1, "Error: ENOSPC: System limit for number of file watchers reached, watch '/app/src'"),
    cause: "file-watches-used-up",
    says: /lacks neither disk space nor files/,
  },
  {
    title: "a program that cannot watch another file",
    options: says(1, "failed to create fsnotify watcher: too many open files"),
    cause: "file-watches-used-up",
    says: /limit of watches \(inotify\) is used up/,
  },
  {
    title: "a program that may open no more files",
    options: says(1, "accept4() failed (24: Too many open files)"),
    cause: "open-files-used-up",
    says: /as many open files and connections as it may/,
  },
  {
    title: "a heap of JavaScript that is full",
    options: says(134, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"),
    cause: "heap-used-up",
    says: /not the memory limit of the container ended it/,
  },
  {
    title: "a heap of Java that is full",
    options: says(
      1,
      'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space',
      "\tat com.example.Shop.main(Shop.java:7)",
    ),
    cause: "heap-used-up",
    says: /has used up its heap/,
  },
  {
    title: "a password that the database refuses",
    options: says(1, 'FATAL:  password authentication failed for user "shop"'),
    cause: "credentials-refused",
    says: /user or password are wrong/,
  },
  {
    title: "a user whom MySQL does not let in",
    options: says(1, "ERROR 1045 (28000): Access denied for user 'shop'@'10.42.0.7' (using password: YES)"),
    cause: "credentials-refused",
    says: /user or password are wrong/,
  },
  {
    title: "an environment variable that the container does not have",
    yaml:
      CONF + deployment("web", `{containers: [{name: c, image: "app:1", envFrom: [{configMapRef: {name: conf}}]}]}`),
    options: says(1, "Error: environment variable DATABASE_URL is not set"),
    cause: "variable-missing",
    says: /wants variable DATABASE_URL, which the container does not have; it has DATABASE_URI/,
  },
  {
    title: "a variable whose optional key does not exist",
    yaml:
      CONF +
      deployment(
        "web",
        `{containers: [{name: c, image: "app:1", env: [{name: TOKEN_FILE, valueFrom: {configMapKeyRef: {name: conf, key: token, optional: true}}}]}]}`,
      ),
    options: says(2, "/start.sh: line 3: TOKEN_FILE: unbound variable"),
    cause: "variable-missing",
    says: /wants variable TOKEN_FILE/,
  },
  {
    title: "a variable that the container has, whatever its program says",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", env: [{name: MODE, value: fast}]}]}`),
    options: says(1, "environment variable MODE is not set"),
    cause: "exits-with-error",
    says: /its last line: environment variable MODE is not set/,
  },
  {
    title: "a file that has another name in its ConfigMap",
    yaml:
      CONF +
      deployment(
        "web",
        `{containers: [{name: c, image: "app:1", volumeMounts: [{name: v, mountPath: /etc/app}]}], volumes: [{name: v, configMap: {name: conf}}]}`,
      ),
    options: says(1, "open /etc/app/config.yaml: no such file or directory"),
    cause: "file-missing",
    says: /wants the file \/etc\/app\/config\.yaml: volume v \(ConfigMap conf\), which is mounted at \/etc\/app, has only DATABASE_URI, settings\.yaml/,
  },
  {
    title: "a file that no volume would have",
    options: says(1, "open /etc/app/config.yaml: no such file or directory"),
    cause: "exits-with-error",
    says: /its last line: open \/etc\/app\/config\.yaml/,
  },
  {
    title: "a certificate that nobody known has signed",
    options: says(1, 'Get "https://api.example.com": tls: x509: certificate signed by unknown authority'),
    cause: "certificate-untrusted",
    says: /does not know who has signed it/,
  },
  {
    title: "a certificate for another name",
    options: says(1, 'Get "https://db": tls: x509: certificate is valid for db.example.com, not db'),
    cause: "certificate-name",
    says: /by a name that the server's certificate does not have/,
  },
  {
    title: "a client that speaks TLS with a port without it",
    options: says(1, "http: server gave HTTP response to HTTPS client"),
    cause: "connection-scheme",
    says: /speaks TLS with a port that does not/,
  },
]

export const SAID_BY_PROGRAMS: readonly Situation[] = PROGRAMS.map((program) => ({
  yaml: web,
  ask: "deployment/web",
  ...program,
}))

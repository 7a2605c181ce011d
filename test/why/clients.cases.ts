import { deployment, pod, type Situation } from "./situation.fixtures.ts"
import { object } from "./reports.cases.ts"

/** What clients say of what they ask, in the words of many languages, and what is named for it. */
const ONE = `{containers: [{name: c, image: "app:1"}]}`
const service = (name: string, port: number): string =>
  object("v1", "Service", name, `spec: {selector: {app: ${name}}, ports: [{port: ${port}}]}`)
const quits = (...logs: readonly string[]) => ({ nodes: 1, images: { "app:1": { runsMs: 100, exitCode: 1, logs } } })
const said = (title: string, yaml: string, cause: string, says: RegExp, ...logs: readonly string[]): Situation => ({
  title,
  yaml: yaml + deployment("web", ONE),
  ask: "deployment/web",
  cause,
  says,
  options: quits(...logs),
})
const REDIS = service("redis", 6379)

const NAMES: readonly Situation[] = [
  said(
    "a program in PHP that does not tell which name it does not find",
    "",
    "name-not-found",
    /a name that the program of container c asks for does not resolve; it does not tell which/,
    "PHP Fatal error:  Uncaught PDOException: php_network_getaddresses: getaddrinfo failed: Name or service not known in /app/db.php:3",
  ),
  said(
    "a program in PHP that tells the name",
    "",
    "name-not-found",
    /the name mysql does not resolve: there is no Service mysql in namespace default/,
    "PHP Fatal error:  Uncaught PDOException: php_network_getaddresses: getaddrinfo for mysql failed: Name or service not known",
  ),
  said(
    "a program in Rust that does not tell which name it does not find",
    "",
    "name-not-found",
    /it does not tell which/,
    "Error: failed to lookup address information: Name or service not known",
  ),
  said(
    "a program in Ruby whose Service has nearly the name that it asks for",
    REDIS,
    "name-not-found",
    /there is no Service rediss in namespace default, but one named redis/,
    "Failed to open TCP connection to rediss:80 (getaddrinfo: Name or service not known) (SocketError)",
  ),
  said(
    "a program in Elixir that asks for a Service which does not exist",
    "",
    "name-not-found",
    /there is no Service pg in namespace default/,
    "** (DBConnection.ConnectionError) tcp connect (pg:5432): non-existing domain - :nxdomain",
  ),
  said(
    "a program for .NET that asks for a Service which does not exist",
    "",
    "name-not-found",
    /there is no Service orders in namespace default/,
    "Unhandled exception. System.Net.Http.HttpRequestException: Name or service not known (orders:80)",
  ),
]

const CONNECTIONS: readonly Situation[] = [
  said(
    "a client of MySQL that tells the number of the error only",
    service("db", 3306),
    "service-selector",
    /its selector app=db matches no pod/,
    "ERROR 2003 (HY000): Can't connect to MySQL server on 'db:3306' (111)",
  ),
  said(
    "a program for .NET whose Service has no pods",
    service("api", 80),
    "service-selector",
    /its selector app=api matches no pod/,
    "Unhandled exception. System.Net.Http.HttpRequestException: Connection refused (api:80)",
  ),
  said(
    "a client of a database that only says that it cannot reach it, at a port that the Service does not have",
    service("db", 3306),
    "service-port",
    /Service default\/db has no port 5432, but 3306/,
    "Error: P1001: Can't reach database server at `db:5432`",
  ),
  said(
    "a client that has kept the address of a pod which is gone",
    "",
    "address-of-no-pod",
    /10\.42\.0\.250 is an address for pods of node node-0, and no pod has it/,
    "dial tcp 10.42.0.250:5432: connect: connection refused",
  ),
]

const SETTINGS: readonly Situation[] = [
  {
    title: "a program whose setting has the name of a variable of a Service",
    yaml: REDIS.replace("spec: {", "spec: {clusterIP: 10.43.0.77, ") + deployment("web", ONE),
    ask: "deployment/web",
    cause: "variable-of-service",
    says: /takes REDIS_PORT, which Kubernetes sets to the address of Service default\/redis, for a setting of its own/,
    options: quits('strconv.ParseInt: parsing "tcp://10.43.0.77:6379": invalid syntax'),
    breaks: async (cluster) => {
      // Without those variables it runs.
      cluster.setImage("app:1", {
        run: async (container) => {
          const link = container.env["REDIS_PORT"]
          if (link === undefined) {
            await container.sleep(1e9)
            return 0
          }
          container.log(`strconv.ParseInt: parsing "${link}": invalid syntax`)
          return 1
        },
      })
      await Promise.resolve()
    },
    mends: 1,
    tried: "not-known",
  },
  {
    title: "a program that wants a variable of a Service of another namespace",
    yaml:
      object("v1", "Namespace", "data", "") +
      REDIS.replace("{name: redis}", "{name: redis, namespace: data}") +
      deployment("web", ONE),
    ask: "deployment/web",
    cause: "variable-of-service-elsewhere",
    says: /of Service data\/redis: pods get only the variables of Services of their own namespace/,
    options: quits("environment variable REDIS_SERVICE_HOST is not set"),
  },
  {
    title: "a program that wants a variable of a Service, in a pod that wants none",
    yaml: REDIS + deployment("web", `{enableServiceLinks: false, containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "variable-of-service-off",
    says: /its pod gets no variables of Services \(enableServiceLinks: false\)/,
    options: quits("environment variable REDIS_SERVICE_HOST is not set"),
  },
  {
    title: "a variable in args that the container does not have",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", args: ["--config=$(CONFIG)"]}]}`),
    ask: "deployment/web",
    cause: "variable-not-expanded",
    says: /gets \$\(CONFIG\) as it is written in its arguments: the container has no variable CONFIG/,
    options: quits("error: open $(CONFIG): file does not exist"),
  },
  {
    title: "a variable in args as only a shell takes it",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", args: ["--db=$DB_HOST"], env: [{name: DB_HOST, value: db}]}]}`,
    ),
    ask: "deployment/web",
    cause: "variable-not-expanded",
    says: /only \$\(DB_HOST\) is replaced by the value of a variable, unless a shell runs the command/,
    options: quits("error: bad host $DB_HOST"),
  },
  {
    title: "an argument that the program does not know, with its usage after it",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", args: [--prot=80]}]}`),
    ask: "deployment/web",
    cause: "arguments-refused",
    says: /does not take its arguments: flag provided but not defined: -prot; its container has args --prot=80/,
    sure: true,
    options: quits("flag provided but not defined: -prot", "Usage of /app:", "  -port int", "  \tport to listen on"),
  },
  {
    title: "a program that may not read the metrics of the API server",
    yaml: "",
    breaks: (cluster) => {
      cluster.setImage("app:1", {
        run: async (container) => {
          const { code, stderr } = await cluster.kubectl(
            "get --raw /metrics --as=system:serviceaccount:default:default",
          )
          if (code === 0) await container.sleep(1e9)
          container.log(stderr.trim())
          return 1
        },
      })
      return cluster.apply(deployment("web", ONE))
    },
    ask: "deployment/web",
    cause: "right-missing",
    says: /ServiceAccount default\/default needs get on the path \/metrics, and has no such right; no role has it/,
    mends: 1,
    tried: "not-known",
  },
  {
    title: "a program that waits for the lease of another one",
    yaml:
      object(
        "coordination.k8s.io/v1",
        "Lease",
        "operator",
        "spec: {holderIdentity: operator-abc_1, leaseDurationSeconds: 15}",
      ) +
      deployment("web", `{containers: [{name: c, image: "app:1", readinessProbe: {httpGet: {port: 80, path: /}}}]}`),
    ask: "deployment/web",
    cause: "leader-elsewhere",
    says: /waits until it leads: lease default\/operator is held by operator-abc_1, which is no pod of the cluster/,
    options: {
      nodes: 1,
      images: {
        "app:1": {
          run: async (container) => {
            container.log("I0101 leaderelection.go:250] attempting to acquire leader lease default/operator...")
            await container.sleep(1e9)
            return 0
          },
          http: () => new Response("", { status: 503 }),
        },
      },
    },
  },
]

const PULLS: readonly Situation[] = [
  {
    title: "a registry behind a proxy that does not answer",
    yaml: pod("web", ONE),
    ask: "pod/web",
    cause: "registry-proxy",
    says: /the proxy through which the node asks registry docker\.io for image app:1 does not let it through/,
    options: {
      images: {
        "app:1": {
          pullError:
            'failed to do request: Head "https://r/v2/": proxyconnect tcp: dial tcp 10.0.0.9:3128: connect: connection refused',
        },
      },
    },
  },
  {
    title: "a pull secret that the account of a pod got after the pod was made",
    yaml: pod("web", `{containers: [{name: c, image: "r.corp/app:1"}]}`),
    ask: "pod/web",
    cause: "image-credentials",
    says: /the pod names no imagePullSecrets: its ServiceAccount has reg only since it was made/,
    options: { images: { "r.corp/app:1": { pullError: "401 Unauthorized" } } },
    breaks: async (cluster) => {
      await cluster.kubectl(
        "create secret docker-registry reg --docker-server=r.corp --docker-username=u --docker-password=p",
      )
      await cluster.kubectl(`patch serviceaccount default -p '{"imagePullSecrets":[{"name":"reg"}]}'`)
    },
  },
]

export const CLIENTS: readonly Situation[] = [...NAMES, ...CONNECTIONS, ...SETTINGS, ...PULLS]

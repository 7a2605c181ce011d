import { Buffer } from "node:buffer"
import { errorMessage } from "../../../errors/error-message.ts"
import { refuseUpgrade } from "../../../streaming/upgrade.ts"
import type { ServerRequest } from "../../../runtime/http/server-request.ts"
import { command } from "../../command/command.ts"
import { boolFlag, durationFlag, intFlag, stringFlag } from "../../command/flag.ts"
import type { HttpHandler } from "../../environment/serve-http.ts"
import { goPathError } from "../../environment/files.ts"
import { SilentExit } from "../../errors/errors.ts"
import { answerText, redirect } from "./answers.ts"
import { ApiProxy } from "./api-proxy.ts"
import { filterOf, hostOfHeader, type FilterPatterns, type RequestFilter } from "./filter.ts"
import { routeOf, type Prefixes } from "./routes.ts"
import { StaticFiles } from "./static-files.ts"

const DEFAULT_PORT = 8001
/** The code of a program of Go that logs a fatal error. */
const FATAL = 255

/** Source: kubectl pkg/cmd/proxy/proxy.go, pkg/proxy/proxy_server.go. */
export const proxyCommand = command({
  use: "proxy [--port=PORT] [--www=static-dir] [--www-prefix=prefix] [--api-prefix=prefix]",
  noFlagsInUse: true,
  short: "Run a proxy to the Kubernetes API server",
  long: "Run a proxy between this machine and the Kubernetes API server, which adds the credentials of the kubeconfig to requests. It can also serve the files of a folder, below a path of their own. Everything else that comes to the port is passed on to the API server.",
  example: `
# Pass on all of the Kubernetes API, and nothing else
kubectl proxy --api-prefix=/

# Pass on a part of the Kubernetes API, and serve files
# The pods are at localhost:8001/api/v1/pods
kubectl proxy --www=/my/files --www-prefix=/static/ --api-prefix=/api/

# Pass on all of the Kubernetes API below another path
# The pods are at localhost:8001/custom/api/v1/pods
kubectl proxy --api-prefix=/custom/

# Listen on port 8011, and serve files from ./local/www/
kubectl proxy --port=8011 --www=./local/www/

# Listen on any free port, which is printed
kubectl proxy --port=0

# Pass on the Kubernetes API below k8s-api
# The pods are at localhost:8001/k8s-api/v1/pods/
kubectl proxy --api-prefix=/k8s-api`,
  flags: {
    "accept-hosts": stringFlag(
      "^localhost$,^127\\.0\\.0\\.1$,^\\[::1\\]$",
      "Regular expressions of the hosts that are accepted.",
    ),
    "accept-paths": stringFlag("^.*", "Regular expressions of the paths that are accepted."),
    address: stringFlag("127.0.0.1", "The IP address to listen on."),
    "api-prefix": stringFlag("/", "The path below which the API is."),
    "append-server-path": boolFlag(
      false,
      "If true, the path of the server in the kubeconfig comes before that of each request.",
    ),
    "disable-filter": boolFlag(
      false,
      "If true, no request is refused. This is dangerous: any web page can send requests to a port that it can reach (XSRF).",
    ),
    keepalive: durationFlag(0, "How often a connection without traffic is probed. 0 turns that off."),
    port: intFlag(DEFAULT_PORT, "The port to listen on. 0 takes any free one.", { shorthand: "p" }),
    "reject-methods": stringFlag(
      "^$",
      "Regular expressions of the methods that are refused (example --reject-methods='POST,PUT,PATCH').",
    ),
    "reject-paths": stringFlag(
      "^/api/.*/pods/.*/exec,^/api/.*/pods/.*/attach",
      "Regular expressions of the paths that are refused, even those that --accept-paths accepts.",
    ),
    "unix-socket": stringFlag("", "The unix socket to listen on.", { shorthand: "u" }),
    www: stringFlag("", "Also serve the files of this folder, below the path of --www-prefix.", { shorthand: "w" }),
    "www-prefix": stringFlag("/static/", "The path below which files are served, if there is a folder of them.", {
      shorthand: "P",
    }),
  },
  async run({ flags, factory, environment, out }) {
    const { log } = factory
    const { server } = await factory.rest()
    const appendServerPath = flags["append-server-path"]
    if (!appendServerPath && server.pathname !== "/")
      log.warning(
        `Your kube context contains a server path ${server.pathname}, use --append-server-path to automatically append the path to each request`,
        "proxy.go:171",
      )
    const socketPath = flags["unix-socket"]
    if (flags["disable-filter"] && socketPath === "")
      log.warning(
        "Request filter disabled, your proxy is vulnerable to XSRF attacks, please be cautious",
        "proxy.go:177",
      )
    const filter = flags["disable-filter"]
      ? undefined
      : await filterOr(
          {
            acceptPaths: flags["accept-paths"],
            rejectPaths: flags["reject-paths"],
            acceptHosts: flags["accept-hosts"],
            rejectMethods: flags["reject-methods"],
          },
          (message) => log.fatal(`Error compiling re: ${message}`, "proxy_server.go:83"),
        )
    if (flags.port !== DEFAULT_PORT && socketPath !== "")
      throw new Error("cannot set --unix-socket and --port at the same time")
    if (flags.www !== "") {
      const found = await environment.files.stat(flags.www)
      if (found === undefined) {
        const { message } = goPathError("stat", flags.www, { code: "ENOENT" })
        log.warning(`Failed to stat static file directory ${flags.www}: ${message}`, "proxy.go:200")
      } else if (!found.isDirectory)
        log.warning(`Static file directory ${flags.www} is not a directory`, "proxy.go:202")
    }
    if (environment.serveHttp === undefined) throw new Error("no port can be opened here")
    const handler = handlerOf({
      prefixes: {
        api: withSlash(flags["api-prefix"]),
        files: flags.www === "" ? undefined : withSlash(flags["www-prefix"]),
      },
      filter,
      proxy: new ApiProxy({ client: await factory.client(), connect: environment.connect, log, appendServerPath }),
      files: new StaticFiles(environment.files, flags.www),
    })
    const place = socketPath === "" ? { host: flags.address, port: flags.port } : { socketPath }
    const { address } = await environment.serveHttp(place, handler)
    await out.write(`Starting to serve on ${address}\n`)
    // Ctrl-C ends the program.
    await new Promise<never>(() => undefined)
  },
})

const withSlash = (prefix: string): string => (prefix.endsWith("/") ? prefix : `${prefix}/`)

async function filterOr(patterns: FilterPatterns, fatal: (message: string) => Promise<void>): Promise<RequestFilter> {
  try {
    return filterOf(patterns)
  } catch (err) {
    await fatal(errorMessage(err))
    throw new SilentExit(FATAL)
  }
}

function handlerOf({
  prefixes,
  filter,
  proxy,
  files,
}: {
  readonly prefixes: Prefixes
  readonly filter: RequestFilter | undefined
  readonly proxy: ApiProxy
  readonly files: StaticFiles
}): HttpHandler {
  const accepts = ({ method, headers }: ServerRequest, path: string): boolean =>
    filter === undefined || filter.accepts(method ?? "", unescaped(path), hostOfHeader(headers.host ?? ""))
  return {
    request(request, answer) {
      const target = request.url ?? "/"
      const query = queryOf(target)
      const route = routeOf(target, prefixes)
      if (route.to === "redirect") redirect(answer, request.method, 307, route.location)
      else if (route.to === "nowhere") answerText(answer, 404, "404 page not found")
      else if (route.to === "files") files.serve(request, answer, route.path, query).catch(() => void answer.destroy())
      else if (accepts(request, route.path))
        void proxy.request(request, answer, `${route.path}${query}`, peerOf(request))
      else answerText(answer, 403, "Forbidden")
    },
    upgrade(request, connection, head) {
      const target = request.url ?? "/"
      const route = routeOf(target, prefixes)
      connection.on("error", () => connection.destroy())
      if (route.to !== "api") refuseUpgrade(connection, 404, "404 page not found\n")
      else if (accepts(request, route.path))
        void proxy.upgrade(request, connection, head, `${route.path}${queryOf(target)}`, peerOf(request))
      else refuseUpgrade(connection, 403, "Forbidden\n", { "X-Content-Type-Options": "nosniff" })
    },
  }
}

const queryOf = (target: string): string => (target.includes("?") ? target.slice(target.indexOf("?")) : "")

/**
 * Patterns are matched with the path as it is meant: what is escaped must not get past them. Bytes that are no text
 * keep nothing else escaped.
 */
const unescaped = (path: string): string =>
  path.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escaped) => Buffer.from(escaped.replaceAll("%", ""), "hex").toString())

/** The address of the client; empty for one of a unix socket. */
const peerOf = (request: ServerRequest): string =>
  (request as { readonly socket?: { readonly remoteAddress?: string } }).socket?.remoteAddress ?? ""

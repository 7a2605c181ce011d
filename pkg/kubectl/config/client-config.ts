import { Buffer } from "node:buffer"
import type { GlobalValues } from "../command/global-flags.ts"
import type { Environment } from "../environment/environment.ts"
import { goPathError } from "../environment/files.ts"
import { ConfigurationInvalid, ContextNotFound } from "../errors/errors.ts"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { parseDuration } from "../../apimachinery/scalars/time.ts"
import type { AuthInfo, Cluster, Context, Kubeconfig } from "./kubeconfig.ts"
import type { LoadingRules } from "./loading-rules.ts"
import { promptForCredentials } from "./prompt.ts"
import { proxyFromVariables } from "./proxy.ts"
import type { Log } from "../rest/log.ts"
import { usualPortIn, type RestConfig } from "./rest-config.ts"
import { inClusterConfig, inClusterNamespace, isInCluster } from "./in-cluster.ts"
import { validateCluster, validateUser } from "./validation.ts"
import { pushAll } from "../../lists/push-all.ts"

/** The server of a run without any kubeconfig. */
const DEFAULT_SERVER = "http://localhost:8080"

/** The kubeconfig with the flags of the command line. Source: client-go tools/clientcmd/client_config.go. */
export class ClientConfig {
  readonly rules: LoadingRules
  readonly #globals: GlobalValues
  readonly #environment: Environment
  readonly #log: Pick<Log, "info">
  #loaded: Promise<Kubeconfig> | undefined

  constructor(environment: Environment, globals: GlobalValues, rules: LoadingRules, log: Pick<Log, "info">) {
    this.#environment = environment
    this.#globals = globals
    this.#log = log
    this.rules = rules
  }

  /** The merged kubeconfigs, without the flags. */
  raw(): Promise<Kubeconfig> {
    return (this.#loaded ??= this.rules.load())
  }

  /** The namespace of the request, and whether `--namespace` set it. */
  async namespace(): Promise<{ readonly namespace: string; readonly explicit: boolean }> {
    const config = await this.raw()
    if (this.#globals.namespace !== "") return { namespace: this.#globals.namespace, explicit: true }
    try {
      await this.#confirmUsable(config)
    } catch (err) {
      if (!(err instanceof ConfigurationInvalid) || !err.isEmpty) throw err
    }
    const namespace = this.#context(config).namespace ?? ""
    if (namespace !== "") return { namespace, explicit: false }
    if (await isInCluster(this.#environment)) {
      this.#log.info(4, "Using in-cluster namespace", "merged_client_builder.go:165")
      return { namespace: await inClusterNamespace(this.#environment), explicit: false }
    }
    return { namespace: "default", explicit: false }
  }

  /** How to reach the server, and as whom. @throws ConfigurationInvalid and others */
  async rest(): Promise<RestConfig> {
    const config = await this.raw()
    const user = this.#user(config)
    this.#context(config)
    const cluster = this.#cluster(config)
    await this.#confirmUsable(config)
    if (this.#isDefault(config) && (await isInCluster(this.#environment))) {
      this.#log.info(4, "Using in-cluster configuration", "merged_client_builder.go:122")
      return { ...(await inClusterConfig(this.#environment, this.#globals)), ...this.#timeout() }
    }
    const rest = await this.#restOf(cluster, user)
    return { ...rest, ...this.#timeout() }
  }

  #timeout(): { readonly timeoutMs?: number } {
    const text = this.#globals["request-timeout"]
    if (text === "" || text === "0") return {}
    const ms = wholeSeconds(text) ?? parseDuration(text)
    if (ms === undefined)
      throw new Error(
        "Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a corresponding time unit (e.g. 1s | 2m | 3h)",
      )
    return ms <= 0 ? {} : { timeoutMs: ms }
  }

  async #restOf(cluster: Cluster, user: AuthInfo): Promise<RestConfig> {
    const url = serverUrl(cluster.server ?? "")
    const impersonate = impersonationOf(user)
    const named = cluster["proxy-url"] ?? ""
    const proxy = named === "" ? proxyFromVariables(url, this.#environment) : new URL(named)
    const base: RestConfig = {
      server: url,
      ...usualPortIn(cluster.server ?? ""),
      ...(proxy === undefined ? {} : { proxy }),
      disableCompression: cluster["disable-compression"] ?? false,
      ...(impersonate === undefined ? {} : { impersonate }),
      tls: {},
    }
    const isTls =
      url.protocol === "https:" ||
      [cluster["certificate-authority"], cluster["certificate-authority-data"]].some((each) => (each ?? "") !== "") ||
      cluster["insecure-skip-tls-verify"] === true
    if (!isTls) return base
    const ca = await this.#pem(cluster["certificate-authority-data"], cluster["certificate-authority"])
    const cert = await this.#pem(user["client-certificate-data"], user["client-certificate"])
    const key = cert === undefined ? undefined : await this.#pem(user["client-key-data"], user["client-key"])
    const token = await this.#token(user)
    const isKnown =
      token !== undefined ||
      cert !== undefined ||
      user.exec !== undefined ||
      user["auth-provider"] !== undefined ||
      (user.username ?? "") !== ""
    const { username = "", password = "" } = isKnown ? user : await promptForCredentials(this.#environment)
    return {
      ...base,
      tls: {
        ...(ca === undefined ? {} : { ca }),
        ...(cert === undefined || key === undefined ? {} : { cert, key }),
        ...(cluster["insecure-skip-tls-verify"] === true ? { insecureSkipVerify: true } : {}),
        ...((cluster["tls-server-name"] ?? "") === "" ? {} : { serverName: cluster["tls-server-name"]! }),
      },
      ...(hasCertFiles(user) ? { hasCertFiles: true } : {}),
      ...(token === undefined ? {} : { token }),
      ...(username === "" && password === "" ? {} : { basic: { username, password } }),
      ...(user.exec === undefined ? {} : { exec: { config: user.exec, cluster } }),
      ...(user["auth-provider"] === undefined ? {} : { authProvider: user["auth-provider"].name }),
    }
  }

  async #token(user: AuthInfo): Promise<string | undefined> {
    if ((user.token ?? "") !== "") return user.token
    if ((user.tokenFile ?? "") === "") return undefined
    return new TextDecoder().decode(await this.#read(user.tokenFile!)).trim()
  }

  async #pem(data: string | undefined, path: string | undefined): Promise<string | undefined> {
    if ((data ?? "") !== "") return Buffer.from(data!, "base64").toString()
    return (path ?? "") === "" ? undefined : new TextDecoder().decode(await this.#read(path!))
  }

  async #read(path: string): Promise<Uint8Array> {
    try {
      return await this.#environment.files.read(path)
    } catch (err) {
      throw goPathError("open", path, err)
    }
  }

  /** The name of the context that counts. */
  contextName(config: Kubeconfig): string {
    return this.#globals.context === "" ? config.currentContext : this.#globals.context
  }

  /** @throws Error for a context that the command line names and that is not there */
  #context(config: Kubeconfig): Context {
    const name = this.contextName(config)
    if (!config.contexts.has(name) && this.#globals.context !== "")
      throw new Error(`context ${goQuoted(name)} does not exist`)
    return this.#contextOr(config)
  }

  /** The context with the flags; that of the flags alone where there is none. */
  #contextOr(config: Kubeconfig): Context {
    const name = this.contextName(config)
    const context = config.contexts.get(name)
    if (context === undefined && this.#globals.context !== "") return {}
    const { cluster, user, namespace } = this.#globals
    return {
      ...context,
      ...(cluster === "" ? {} : { cluster }),
      ...(user === "" ? {} : { user }),
      ...(namespace === "" ? {} : { namespace }),
    }
  }

  #user(config: Kubeconfig): AuthInfo {
    const name = this.#contextOr(config).user ?? ""
    const user = config.users.get(name)
    if (user === undefined && this.#globals.user !== "") throw new Error(`auth info ${goQuoted(name)} does not exist`)
    const flags = this.#globals
    const extra = extraOf(flags["as-user-extra"])
    const merged: AuthInfo = {
      ...user,
      ...(flags.token === "" ? {} : { token: flags.token }),
      ...(flags.as === "" ? {} : { as: flags.as }),
      ...(flags["as-uid"] === "" ? {} : { "as-uid": flags["as-uid"] }),
      ...(flags["as-group"].length === 0 ? {} : { "as-groups": flags["as-group"] }),
      ...(extra === undefined ? {} : { "as-user-extra": extra }),
      ...(flags.username === "" ? {} : { username: flags.username }),
      ...(flags.password === "" ? {} : { password: flags.password }),
    }
    for (const name of ["client-certificate", "client-key"] as const) {
      if (flags[name] === "") continue
      merged[name] = flags[name]
      delete merged[`${name}-data`]
    }
    return merged
  }

  #cluster(config: Kubeconfig): Cluster {
    const name = this.#contextOr(config).cluster ?? ""
    const cluster = config.clusters.get(name)
    if (cluster === undefined && this.#globals.cluster !== "")
      throw new Error(`cluster ${goQuoted(name)} does not exist`)
    const { server, "certificate-authority": ca, "insecure-skip-tls-verify": insecure } = this.#globals
    const serverName = this.#globals["tls-server-name"]
    const merged: Cluster = {
      ...defaultCluster(this.#environment),
      ...cluster,
      ...(server === "" ? {} : { server }),
      ...(this.#globals["disable-compression"] ? { "disable-compression": true } : {}),
    }
    if (insecure || ca !== "") {
      merged["insecure-skip-tls-verify"] = insecure
      merged["certificate-authority"] = ca
      delete merged["certificate-authority-data"]
    }
    if (serverName !== "" || server !== "") merged["tls-server-name"] = serverName
    return merged
  }

  /** Whether nothing names a server. Credentials are not looked at, since the default server is not one of TLS. */
  #isDefault(config: Kubeconfig): boolean {
    const cluster = this.#cluster(config)
    return (
      cluster.server === DEFAULT_SERVER &&
      Object.keys(cluster).every((key) => key === "server") &&
      impersonationOf(this.#user(config)) === undefined
    )
  }

  async #confirmUsable(config: Kubeconfig): Promise<void> {
    const errors: Error[] = []
    const name = this.contextName(config)
    if (name !== "" && !config.contexts.has(name)) errors.push(new ContextNotFound(name))
    const orEmpty = <T extends object>(get: () => T): Partial<T> => {
      try {
        return get()
      } catch {
        return {}
      }
    }
    const context = this.#contextOr(config)
    const { files } = this.#environment
    pushAll(
      errors,
      await validateUser(
        context.user ?? "",
        orEmpty(() => this.#user(config)),
        files,
      ),
    )
    pushAll(
      errors,
      await validateCluster(
        context.cluster ?? "",
        orEmpty(() => this.#cluster(config)),
        files,
      ),
    )
    if (errors.length > 0) throw new ConfigurationInvalid(errors)
  }
}

const defaultCluster = ({ variables }: Environment): Cluster => ({
  server: (variables["KUBERNETES_MASTER"] ?? "") === "" ? DEFAULT_SERVER : variables["KUBERNETES_MASTER"]!,
})

function extraOf(pairs: readonly string[]): Readonly<Record<string, readonly string[]>> | undefined {
  if (pairs.length === 0) return undefined
  const extra: Record<string, string[]> = {}
  for (const pair of pairs) {
    const at = pair.indexOf("=")
    if (at !== -1) (extra[pair.slice(0, at)] ??= []).push(pair.slice(at + 1))
  }
  return extra
}

function impersonationOf(user: AuthInfo): RestConfig["impersonate"] {
  if ((user.as ?? "") === "") return undefined
  return {
    user: user.as!,
    uid: user["as-uid"] ?? "",
    groups: user["as-groups"] ?? [],
    extra: user["as-user-extra"] ?? {},
  }
}

/** An address without a scheme is one of HTTP. Source: client-go rest/url_utils.go. */
export function serverUrl(server: string): URL {
  const text = /^https?:\/\//.test(server) ? server : `http://${server}`
  if (!URL.canParse(text)) throw new Error(`host must be a URL or a host:port pair: ${goQuoted(server)}`)
  return new URL(text)
}

/** Source: client-go transport/transport.go (loadTLSFiles): data go before files. */
const hasCertFiles = (user: AuthInfo): boolean =>
  (["client-certificate", "client-key"] as const).every(
    (name) => (user[name] ?? "") !== "" && (user[`${name}-data`] ?? "") === "",
  )

const MOST_INT64 = 2n ** 63n - 1n

/**
 * Returns the milliseconds of a number of seconds, undefined for other text. Go counts nanoseconds in 64 bits, of which
 * 300 years overflow. Source: client-go tools/clientcmd/helpers.go (ParseTimeout).
 */
function wholeSeconds(text: string): number | undefined {
  if (!/^(?:\+?\d+|-0+)$/.test(text) || BigInt(text) > MOST_INT64) return undefined
  return Number(BigInt.asIntN(64, BigInt(text) * 1_000_000_000n)) / 1e6
}

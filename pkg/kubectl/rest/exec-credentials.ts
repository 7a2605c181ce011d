import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { isJsonObject } from "../../apimachinery/json/json-value.ts"
import { parseTime } from "../../apimachinery/scalars/time.ts"
import { parseYaml } from "../../yaml/yaml.ts"
import { notAnObject } from "../config/kubeconfig.ts"
import { shownUrl, type RestConfig } from "../config/rest-config.ts"
import type { Environment } from "../environment/environment.ts"
import { errorCode } from "../environment/files.ts"
import type { ProgramResult } from "../environment/programs.ts"
import type { PluginPolicy } from "../preferences/preference.ts"
import type { Credentials } from "./credentials.ts"
import { checkPlugin } from "./plugin-policy.ts"

const GROUP = "client.authentication.k8s.io"
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`]

const ALLOW_ALL: PluginPolicy = { type: "", allowlist: undefined }

const INSTALL_HELP = `

It looks like you are trying to use a client-go credential plugin that is not installed.

To learn more about this feature, consult the documentation available at:
      https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins`

/** What a program has answered. */
interface Given {
  readonly token?: string
  readonly cert?: string
  readonly key?: string
  /** When they are no longer valid, in milliseconds since the epoch; undefined: never. */
  readonly expires?: number
}

/**
 * The credentials that a program gives, asked for with the first request and again when they have expired or the server
 * refuses them. Source: client-go plugin/pkg/client/auth/exec/exec.go.
 * @throws Error for a version of the API that there is not
 */
export function execCredentials(
  config: RestConfig,
  { config: exec, cluster }: NonNullable<RestConfig["exec"]>,
  environment: Environment,
  {
    policy = ALLOW_ALL,
    stdinUse,
  }: {
    readonly policy?: PluginPolicy | undefined
    /** What else reads the input, so that the program may not; undefined: nothing. */
    readonly stdinUse?: string | undefined
  } = {},
): Credentials {
  const { apiVersion = "" } = exec
  if (!VERSIONS.includes(apiVersion)) throw new Error(`exec plugin: invalid apiVersion ${goQuoted(apiVersion)}`)
  let given: Promise<Given> | undefined
  let isTold = false
  const info = (interactive: boolean): string =>
    `${JSON.stringify({
      kind: "ExecCredential",
      apiVersion,
      spec: {
        ...(exec.provideClusterInfo === true ? { cluster: clusterInfo(config, cluster) } : {}),
        interactive,
      },
    })}\n`

  async function ask(): Promise<Given> {
    const interactive = isInteractive(exec.interactiveMode ?? "", environment, stdinUse)
    const variables = {
      ...environment.variables,
      ...Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: info(interactive),
    }
    await checkPlugin(exec.command, policy, environment)
    let result: ProgramResult
    try {
      result = await environment.programs.run({
        command: exec.command,
        args: exec.args ?? [],
        variables,
        stdin: interactive ? "inherit" : "ignore",
        output: "collect",
        errors: "inherit",
      })
    } catch (err) {
      if (errorCode(err) !== "ENOENT") throw new Error(`exec: ${(err as Error).message}`, { cause: err })
      const hint = (exec.installHint ?? "") === "" ? "" : `\n\n${exec.installHint!}`
      const help = isTold ? "" : `${INSTALL_HELP}${hint}`
      isTold = true
      throw new Error(`exec: executable ${exec.command} not found${help}`, { cause: err })
    }
    if (result.code !== 0) throw new Error(`exec: executable ${exec.command} failed with exit code ${result.code}`)
    return givenBy(result.stdout, apiVersion)
  }

  async function current(): Promise<Given> {
    try {
      const known = await given
      if (known === undefined || (known.expires ?? Infinity) <= environment.clock.now()) given = ask()
      return await given!
    } catch (err) {
      given = undefined
      throw new Error(`getting credentials: ${(err as Error).message}`, { cause: err })
    }
  }

  const hasOther = config.token !== undefined || config.basic !== undefined || config.tls.cert !== undefined
  return {
    async headers() {
      if (config.basic !== undefined || config.token !== undefined || hasOther) return otherHeaders(config)
      const { token = "" } = await current()
      return token === "" ? {} : { Authorization: `Bearer ${token}` }
    },
    async certificate() {
      if (hasOther) return {}
      const { cert, key } = await current()
      return cert === undefined || key === undefined ? {} : { cert, key }
    },
    async refresh() {
      if (hasOther) return false
      given = undefined
      await current()
      return false
    },
  }
}

function otherHeaders({ basic, token }: RestConfig): Readonly<Record<string, string>> {
  if (basic !== undefined) return { Authorization: `Basic ${btoa(`${basic.username}:${basic.password}`)}` }
  return token === undefined ? {} : { Authorization: `Bearer ${token}` }
}

/** Whether the program may ask the user. @throws Error when it must and cannot */
function isInteractive(mode: string, { stdin }: Environment, stdinUse: string | undefined): boolean {
  if (mode === "Never") return false
  const why = !stdin.isTerminal
    ? "standard input is not a terminal"
    : stdinUse === undefined
      ? undefined
      : `standard input is unavailable: ${stdinUse}`
  if (mode === "Always" && why !== undefined) throw new Error(`exec plugin cannot support interactive mode: ${why}`)
  return why === undefined
}

function clusterInfo(config: RestConfig, cluster: NonNullable<RestConfig["exec"]>["cluster"]): object {
  const { server, tls, proxy, disableCompression } = config
  const extension = cluster.extensions?.find(({ name }) => name === `${GROUP}/exec`)?.extension
  return {
    server: shownUrl(server, config).replace(/\/$/, ""),
    ...(tls.serverName === undefined ? {} : { "tls-server-name": tls.serverName }),
    ...(tls.insecureSkipVerify === true ? { "insecure-skip-tls-verify": true } : {}),
    ...(tls.ca === undefined ? {} : { "certificate-authority-data": btoa(tls.ca) }),
    ...(proxy === undefined ? {} : { "proxy-url": proxy.href }),
    ...(disableCompression ? { "disable-compression": true } : {}),
    config: extension ?? null,
  }
}

function givenBy(text: string, apiVersion: string): Given {
  let credential: {
    readonly apiVersion?: string
    readonly kind?: string
    readonly status?: {
      readonly token?: string
      readonly clientCertificateData?: string
      readonly clientKeyData?: string
      readonly expirationTimestamp?: string
    }
  }
  try {
    const { value } = parseYaml(text)
    if (!isJsonObject(value)) throw notAnObject(value)
    credential = value
  } catch (err) {
    throw new Error(`decoding stdout: couldn't get version/kind; json parse error: ${(err as Error).message}`, {
      cause: err,
    })
  }
  // What it does not say is taken for granted; without a version it is of none that can be configured.
  const kind = credential.kind || "ExecCredential"
  const version = credential.apiVersion || `${GROUP}/__internal`
  if (kind !== "ExecCredential" || !(VERSIONS.includes(version) || version.endsWith("/__internal")))
    throw new Error(
      `decoding stdout: no kind ${goQuoted(kind)} is registered for version ${goQuoted(version)} in scheme "pkg/client/auth/exec/exec.go"`,
    )
  if (version !== apiVersion)
    throw new Error(`exec plugin is configured to use API version ${apiVersion}, plugin returned version ${version}`)
  const { status } = credential
  if (status === undefined) throw new Error("exec plugin didn't return a status field")
  const { token = "", clientCertificateData: cert = "", clientKeyData: key = "", expirationTimestamp } = status
  if (token === "" && cert === "" && key === "") throw new Error("exec plugin didn't return a token or cert/key pair")
  if ((cert === "") !== (key === "")) throw new Error("exec plugin returned only certificate or key, not both")
  const expires = expirationTimestamp === undefined ? undefined : parseTime(expirationTimestamp)
  return {
    ...(token === "" ? {} : { token }),
    ...(cert === "" ? {} : { cert, key }),
    ...(expires === undefined ? {} : { expires }),
  }
}

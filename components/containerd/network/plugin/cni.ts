import { errorMessage } from "../../../../pkg/errors/error-message.ts"

/** The messages between container runtimes and network plugins. Source: the CNI specification 1.1.0, SPEC.md. */

/** The versions of the specification that our plugins support, the oldest first. */
export const VERSIONS = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] as const
const NEWEST = VERSIONS.at(-1)!

/** Codes of errors, as the specification numbers them; from 100 on they are the plugin's own. */
export const CODE = {
  incompatibleVersion: 1,
  unknownContainer: 3,
  invalidEnvironment: 4,
  undecodable: 6,
  invalidConfiguration: 7,
  tryAgainLater: 11,
  unavailable: 50,
  noAddress: 100,
  failed: 101,
} as const

export class CniError extends Error {
  override readonly name = "CniError"
  constructor(
    readonly code: number,
    message: string,
    readonly details?: string,
  ) {
    super(message)
  }
}

export interface CniInterface {
  readonly name: string
  readonly mac?: string
  /** The network namespace; absent for interfaces of the host. */
  readonly sandbox?: string
}

/** The result of ADD. */
export interface CniResult {
  readonly interfaces: readonly CniInterface[]
  /** `address` with its prefix length; `interface` is an index in `interfaces`. */
  readonly ips: readonly { readonly address: string; readonly gateway?: string; readonly interface: number }[]
  readonly routes?: readonly { readonly dst: string }[]
}

/** Returns the result in the form of a version: until 0.4 each address names its family. */
export function resultText(version: string, { interfaces, ips, routes = [] }: CniResult): string {
  const isOld = version.startsWith("0.")
  const family = (address: string) => (address.includes(":") ? "6" : "4")
  return JSON.stringify({
    cniVersion: version,
    interfaces,
    ips: isOld ? ips.map((ip) => ({ version: family(ip.address), ...ip })) : ips,
    routes,
    dns: {},
  })
}

export const errorText = (version: string, error: unknown): string => {
  const { code, message, details } =
    error instanceof CniError ? error : { code: CODE.failed, message: errorMessage(error), details: undefined }
  return JSON.stringify({ cniVersion: version, code, msg: message, ...(details === undefined ? {} : { details }) })
}

export const versionText = (version: string): string =>
  JSON.stringify({ cniVersion: version, supportedVersions: VERSIONS })

/** Returns why a version is not supported; undefined if it is. */
export const versionProblem = (version: string): CniError | undefined =>
  (VERSIONS as readonly string[]).includes(version)
    ? undefined
    : new CniError(
        CODE.incompatibleVersion,
        `cniVersion ${JSON.stringify(version)} is not supported: use one of ${VERSIONS.join(", ")}`,
      )

/** The version in which an error is written when the configuration names none. */
export const DEFAULT_VERSION = NEWEST

export type CniCommand = "ADD" | "DEL" | "CHECK" | "STATUS" | "GC" | "VERSION"

/** One call of a plugin. */
export interface CniCall {
  readonly command: CniCommand
  /** Empty in commands about the whole network. */
  readonly containerId: string
  readonly interface: string
  /** The path of the network namespace; empty if the namespace is gone. */
  readonly namespace: string
  readonly environment: ReadonlyMap<string, string>
  readonly config: Readonly<Record<string, unknown>>
}

const NEEDS: Readonly<Record<CniCommand, readonly string[]>> = {
  ADD: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
  CHECK: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
  DEL: ["CNI_CONTAINERID", "CNI_IFNAME"],
  STATUS: [],
  GC: [],
  VERSION: [],
}

/** Returns the call that the environment and the standard input of a plugin describe. @throws CniError */
export function callOf(environment: ReadonlyMap<string, string>, input: string): CniCall {
  const command = environment.get("CNI_COMMAND") ?? ""
  if (!isCommand(command))
    throw new CniError(CODE.invalidEnvironment, `unknown CNI_COMMAND: ${command || "it is not set"}`)
  const lacking = NEEDS[command].filter((name) => !environment.get(name))
  if (lacking.length > 0)
    throw new CniError(CODE.invalidEnvironment, `required env variables [${lacking.join(",")}] missing`)
  const containerId = environment.get("CNI_CONTAINERID") ?? ""
  if (containerId !== "" && !/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,254}$/.test(containerId))
    throw new CniError(CODE.invalidEnvironment, `invalid characters in containerID: ${containerId.slice(0, 100)}`)
  const interfaceName = environment.get("CNI_IFNAME") ?? ""
  if (interfaceName !== "" && !isInterfaceName(interfaceName))
    throw new CniError(CODE.invalidEnvironment, `interface name is invalid: ${interfaceName.slice(0, 100)}`)
  return {
    command,
    containerId,
    interface: interfaceName,
    namespace: environment.get("CNI_NETNS") ?? "",
    environment,
    config: configIn(input),
  }
}

const isCommand = (word: string): word is CniCommand => Object.hasOwn(NEEDS, word)

/** Source: ValidateInterfaceName in libcni pkg/utils, dev_valid_name in Linux. */
export const isInterfaceName = (name: string): boolean => /^[^\s/:]{1,15}$/.test(name) && name !== "." && name !== ".."

function configIn(input: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(input)
  } catch (err) {
    throw new CniError(CODE.undecodable, `the network configuration is no JSON: ${(err as Error).message}`)
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new CniError(CODE.undecodable, "the network configuration is no object")
  return value as Record<string, unknown>
}

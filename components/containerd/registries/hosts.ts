import { toml, type TomlTable } from "../toml.ts"
import { endpointUrl, type Mirror, type Registries, type RegistryAuth, type RegistryConfig } from "./registries.ts"

/** Where an endpoint is really asked, as for one whose names of repositories are rewritten on the way. */
export interface Detour {
  /** The URL that containerd uses instead. */
  readonly url: string
}

/** The `configs` of containerd's own configuration, by host. */
export type Credentials = Readonly<Record<string, { readonly auth: TomlTable }>>

export interface HostsFile {
  /** The name of the folder in containerd's `config_path`. */
  readonly folder: string
  readonly text: string
}

/** The first line of every hosts.toml that k3ts writes, by which it knows them again. */
export const HEADER = "# Written by k3ts from registries.yaml at each start: do not change it here."

/** containerd's folder for all registries that have none. Source: containerd docs/hosts.md. */
const DEFAULT_FOLDER = "_default"
const DOCKER_HUB = "docker.io"
/** Source: containerd core/remotes/docker/registry.go DefaultHost. */
const DOCKER_HUB_HOST = "registry-1.docker.io"

/**
 * Returns containerd's hosts.toml of each registry that has mirrors or certificates. `detourOf` returns where an
 * endpoint of a mirror is reached instead of under its own URL; undefined for under its own.
 * Source: containerd docs/hosts.md; k3s pkg/agent/containerd/config.go getHostConfigs.
 */
export function hostsFiles(
  { mirrors, configs, mirrorsOnly = false }: Registries,
  detourOf: (registry: string, endpoint: URL) => Detour | undefined,
): readonly HostsFile[] {
  const named = new Set([
    ...Object.keys(mirrors),
    ...Object.keys(configs).filter((host) => configs[host]?.tls !== undefined),
  ])
  return [...named].map((registry) => {
    const hosts = mirrorHosts(registry, mirrors[registry], configs, detourOf)
    const own = mirrorsOnly ? lastAsServer(hosts) : undefined
    const itself = { ...hosts, ...ownHost(registry, configs) }
    return {
      folder: registry === "*" ? DEFAULT_FOLDER : registry,
      text: `${HEADER}\n${toml(own ?? { ...serverTable(registry, configs), ...hostTable(itself) })}`,
    }
  })
}

/** Returns the settings of each endpoint of a mirror, by its URL, in the order in which they are asked. */
function mirrorHosts(
  registry: string,
  mirror: Mirror | undefined,
  configs: Registries["configs"],
  detourOf: (registry: string, endpoint: URL) => Detour | undefined,
): Readonly<Record<string, TomlTable>> {
  const hosts: Record<string, TomlTable> = {}
  for (const text of mirror?.endpoint ?? []) {
    const url = endpointUrl(text)!
    const detour = detourOf(registry, url)
    const common = { capabilities: CAPABILITIES }
    if (detour === undefined)
      hosts[hostOf(url)] ??= { ...common, ...pathOf(url), ...tlsOf(configFor(configs, url.host)) }
    else hosts[detour.url] ??= { ...common, override_path: true }
  }
  return hosts
}

const CAPABILITIES = ["pull", "resolve"]

/**
 * The registry itself as one of the hosts, behind its mirrors, where it has certificates: containerd before 1.7 reads
 * them of hosts only. Source: containerd 1.6 remotes/docker/config/hosts.go parseHostsFile.
 */
function ownHost(registry: string, configs: Registries["configs"]): Readonly<Record<string, TomlTable>> {
  const tls = registry === "*" ? {} : tlsOf(configFor(configs, registry))
  return Object.keys(tls).length === 0 ? {} : { [serverOf(registry, configs)]: { capabilities: CAPABILITIES, ...tls } }
}

/** The registry itself. */
const serverTable = (registry: string, configs: Registries["configs"]): TomlTable => ({
  ...(registry === "*" ? {} : { server: serverOf(registry, configs) }),
  ...tlsOf(registry === "*" ? configs["*"] : configFor(configs, registry)),
})

const hostTable = (hosts: Readonly<Record<string, TomlTable>>): TomlTable =>
  Object.keys(hosts).length === 0 ? {} : { host: hosts }

/**
 * Puts the last endpoint also in the place of the registry itself, which containerd would ask in any case. Undefined
 * where there is no endpoint.
 */
function lastAsServer(hosts: Readonly<Record<string, TomlTable>>): TomlTable | undefined {
  const last = Object.entries(hosts).at(-1)
  return last && { server: last[0], ...last[1], ...hostTable(hosts) }
}

/** The URL of the registry itself, which is asked last. A registry of this machine that has certificates has TLS. */
function serverOf(registry: string, configs: Registries["configs"]): string {
  if (registry === DOCKER_HUB) return `https://${DOCKER_HUB_HOST}`
  const url = configs[registry]?.tls === undefined ? endpointUrl(registry) : endpointUrl(`https://${registry}`)
  return url?.origin ?? `https://${registry}`
}

/** Whether the URL's path is the one that containerd would use anyway. */
const hasUsualPath = ({ pathname }: URL): boolean => ["", "/", "/v2", "/v2/"].includes(pathname)
const hostOf = (url: URL): string => (hasUsualPath(url) ? url.origin : `${url.origin}${url.pathname}`)
const pathOf = (url: URL): TomlTable => (hasUsualPath(url) ? {} : { override_path: true })

/** Returns the configuration of a host, under either name of Docker Hub; that of `*` when it has none. */
export function configFor(configs: Registries["configs"], host: string): RegistryConfig | undefined {
  const names = [DOCKER_HUB, DOCKER_HUB_HOST].includes(host) ? [DOCKER_HUB_HOST, DOCKER_HUB] : [host]
  return configs[names.find((name) => configs[name] !== undefined) ?? "*"]
}

function tlsOf(config: RegistryConfig | undefined): TomlTable {
  const { ca_file: ca, cert_file: cert, key_file: key, insecure_skip_verify: skip } = config?.tls ?? {}
  return {
    ...(ca === undefined ? {} : { ca: [ca] }),
    ...(cert === undefined ? {} : { client: key === undefined ? [cert] : [[cert, key]] }),
    ...(skip === undefined ? {} : { skip_verify: skip }),
  }
}

/**
 * Returns the credentials for containerd's own configuration, by the host that is asked; `detours` are hosts of this
 * machine, with the host that they stand for. Source: containerd docs/cri/registry.md.
 */
export function credentials({ configs }: Registries, detours: ReadonlyMap<string, string>): Credentials {
  const entries = Object.entries(configs)
    .flatMap(([host, { auth }]) => (auth === undefined ? [] : [[host, auth] as const]))
    .flatMap(([host, auth]) => [
      [host, auth] as const,
      ...(host === DOCKER_HUB && configs[DOCKER_HUB_HOST]?.auth === undefined
        ? [[DOCKER_HUB_HOST, auth] as const]
        : []),
    ])
  const rewritten = [...detours].flatMap(([detour, host]) => {
    const auth = configFor(configs, host)?.auth
    return auth === undefined ? [] : [[detour, auth] as const]
  })
  return Object.fromEntries([...entries, ...rewritten].map(([host, auth]) => [host, { auth: authOf(auth) }]))
}

function authOf({ username, password, auth, identity_token: token }: RegistryAuth): TomlTable {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(auth === undefined ? {} : { auth }),
    ...(token === undefined ? {} : { identitytoken: token }),
  }
}

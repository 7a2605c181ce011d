/**
 * The settings of image registries: where images of a registry are pulled from, and with which credentials and
 * certificates. Source: k3s docs installation/private-registry; github.com/rancher/wharfie pkg/registries.
 */
export interface Registries {
  /** By the host of the registry; `*` for all that are not named. */
  readonly mirrors: Readonly<Record<string, Mirror>>
  /** By the host of a registry or an endpoint, with its port where it has one; `*` for all that are not named. */
  readonly configs: Readonly<Record<string, RegistryConfig>>
  /** Whether a registry with mirrors is not asked itself when none of them has an image. */
  readonly mirrorsOnly?: boolean
}

export interface Mirror {
  /** URLs that are tried in order before the registry itself. */
  readonly endpoint: readonly string[]
  /** Patterns in RE2 for the name of a repository → its name at the endpoints; the first that matches counts. */
  readonly rewrite: Readonly<Record<string, string>>
}

export interface RegistryConfig {
  readonly auth?: RegistryAuth | undefined
  readonly tls?: RegistryTls | undefined
}
export interface RegistryAuth {
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** `<username>:<password>` in base64. */
  readonly auth?: string | undefined
  readonly identity_token?: string | undefined
}
/** Paths of files in PEM. */
export interface RegistryTls {
  readonly ca_file?: string | undefined
  readonly cert_file?: string | undefined
  readonly key_file?: string | undefined
  readonly insecure_skip_verify?: boolean | undefined
}

const LOCAL = /^(localhost|127(\.\d+){3}|\[::1\])$/

/**
 * Returns the URL of an endpoint. Without a scheme it is https, but http for a port of this machine other than 443.
 * Source: k3s pkg/agent/containerd/config.go normalizeEndpointAddress, as containerd's remotes/docker/config/hosts.go.
 */
export function endpointUrl(text: string): URL | undefined {
  const whole = text.includes("://") ? text : `https://${text}`
  if (!URL.canParse(whole)) return undefined
  const url = new URL(whole)
  if (!["http:", "https:"].includes(url.protocol) || url.host === "" || url.username !== "" || url.hash !== "")
    return undefined
  if (!text.includes("://") && LOCAL.test(url.hostname) && url.port !== "") url.protocol = "http:"
  return url
}

import type { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { AuthConfig } from "../../../pkg/cri/image.ts"
import type { ImageName } from "./image-name.ts"

interface DockerAuth {
  readonly auth?: string
  readonly username?: string
  readonly password?: string
  readonly identitytoken?: string
  readonly registrytoken?: string
}

/** Credentials for a registry, and the Secret that has them. */
export interface Credential {
  readonly auth: AuthConfig
  readonly secret: Secret
}

/**
 * Returns the credentials of pull secrets that fit an image, the longest match of registry and path first. Source:
 * pkg/credentialprovider/keyring.go.
 */
export function credentialsFor(image: ImageName, secrets: readonly Secret[]): readonly Credential[] {
  const found = secrets.flatMap((secret) =>
    Object.entries(authsOf(secret)).flatMap(([key, auth]) =>
      matches(key, image) ? [{ key, auth: toAuth(auth), secret }] : [],
    ),
  )
  return found.sort((a, b) => b.key.length - a.key.length).map(({ auth, secret }) => ({ auth, secret }))
}

/** Returns the entries of a `.dockerconfigjson` or an older `.dockercfg`; none for another or an invalid secret. */
function authsOf(secret: Secret): Readonly<Record<string, DockerAuth>> {
  const text = (key: string) => Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8")
  try {
    if (secret.type === "kubernetes.io/dockerconfigjson")
      return (JSON.parse(text(".dockerconfigjson")) as { auths?: Record<string, DockerAuth> }).auths ?? {}
    if (secret.type === "kubernetes.io/dockercfg") return JSON.parse(text(".dockercfg")) as Record<string, DockerAuth>
  } catch {
    // Validation refuses invalid secrets; one that exists nevertheless has no credentials.
  }
  return {}
}

/**
 * Whether a key such as `https://index.docker.io/v1/`, `registry.example.com` or `*.example.com:5000/team` fits an
 * image: the host by labels with `*`, the path by prefix.
 */
function matches(key: string, { registry, repository }: ImageName): boolean {
  const plain = withoutSlashes(key.replace(/^https?:\/\//, "").replace(/\/(v1|v2)\/?$/, ""))
  const slash = plain.indexOf("/")
  const host = (slash < 0 ? plain : plain.slice(0, slash)).replace(/^index\.docker\.io$/, "docker.io")
  const path = slash < 0 ? "" : plain.slice(slash + 1)
  if (path !== "" && repository !== path && !repository.startsWith(`${path}/`)) return false
  const [wantedName = "", wantedPort] = host.split(":")
  const [name = "", port] = registry.split(":")
  if (wantedPort !== port) return false
  const wanted = wantedName.split(".")
  const labels = name.split(".")
  return wanted.length === labels.length && wanted.every((part, i) => matchesGlob(part, labels[i]!))
}

function withoutSlashes(text: string): string {
  let end = text.length
  while (text[end - 1] === "/") end--
  return text.slice(0, end)
}

/**
 * Whether a pattern with `*` matches a text. Each part between stars is searched for once, so that no pattern is
 * expensive.
 */
function matchesGlob(pattern: string, text: string): boolean {
  const [first = "", ...parts] = pattern.split("*")
  const last = parts.pop()
  if (last === undefined) return text === first
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (const part of parts) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return at <= text.length - last.length
}

/** Leaves out the server's address, as upstream does: containerd takes it for a URL and refuses `127.0.0.1:5000`. */
function toAuth({ auth, username, password, identitytoken, registrytoken }: DockerAuth): AuthConfig {
  const [user, ...rest] = auth === undefined ? [] : Buffer.from(auth, "base64").toString("utf8").split(":")
  return {
    username: username ?? user ?? "",
    password: password ?? rest.join(":"),
    serverAddress: "",
    ...(identitytoken === undefined ? {} : { identityToken: identitytoken }),
    ...(registrytoken === undefined ? {} : { registryToken: registrytoken }),
  }
}

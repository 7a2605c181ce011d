import { readFileSync } from "node:fs"
import { parseDocument } from "yaml"
import { z } from "zod"
import { compileRe2 } from "../../../pkg/re2/re2.ts"

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

const endpoint = z.string().refine((text) => endpointUrl(text) !== undefined, {
  error: "must be a URL of http or https, as in https://registry.example.org:5000",
})
function checkPatterns(rewrite: Readonly<Record<string, string>>, { addIssue }: z.core.$RefinementCtx): void {
  for (const pattern of Object.keys(rewrite))
    try {
      compileRe2(pattern)
    } catch (err) {
      addIssue({
        code: "custom",
        path: [pattern],
        message: `must be a pattern in RE2's syntax: ${(err as Error).message}`,
      })
    }
}

/**
 * Checks the keys of `mirrors` and `configs`: containerd finds the settings of a registry in a folder that has the name
 * of the registry's host. With any other name they would be without effect, or be written outside of that folder.
 */
function checkHosts(byHost: Readonly<Record<string, unknown>>, { addIssue }: z.core.$RefinementCtx): void {
  for (const host of Object.keys(byHost))
    if (host !== "*" && !HOST.test(host))
      addIssue({
        code: "custom",
        path: [host],
        message: "must be the host of a registry, with its port where it has one, as in registry.example.org:5000",
      })
}
const HOST = /^([a-zA-Z0-9]([\w.-]*\w)?|\[[0-9a-fA-F:.]+\])(:\d{1,5})?$/
const file = z.string().min(1, "must be the path of a file").optional()

const schema = z.strictObject({
  mirrors: z
    .record(
      z.string(),
      z
        .strictObject({
          endpoint: z.array(endpoint).nullish(),
          rewrite: z.record(z.string(), z.string()).superRefine(checkPatterns).nullish(),
        })
        .nullable(),
    )
    .superRefine(checkHosts)
    .nullish(),
  configs: z
    .record(
      z.string(),
      z
        .strictObject({
          auth: z
            .strictObject({
              username: z.string().optional(),
              password: z.string().optional(),
              auth: z.string().optional(),
              identity_token: z.string().optional(),
            })
            .nullish(),
          tls: z
            .strictObject({
              ca_file: file,
              cert_file: file,
              key_file: file,
              insecure_skip_verify: z.boolean().optional(),
            })
            .refine(({ cert_file, key_file }) => (cert_file === undefined) === (key_file === undefined), {
              error: "cert_file and key_file go together",
            })
            .nullish(),
        })
        .nullable(),
    )
    .superRefine(checkHosts)
    .nullish(),
})

/**
 * Reads registries.yaml and checks that the files it names can be read. Returns undefined when there is no such file.
 * @throws Error that names the file, the field and what is wrong with it
 */
export function readRegistries(path: string): Registries | undefined {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException
    if (code === "ENOENT") return undefined
    throw new Error(`Cannot read ${path}: ${message}`, { cause: err })
  }
  const registries = parseRegistries(text, path)
  for (const [host, { tls = {} }] of Object.entries(registries.configs))
    for (const field of ["ca_file", "cert_file", "key_file"] as const) {
      const named = tls[field]
      if (named !== undefined) checkReadable(named, `configs.${JSON.stringify(host)}.tls.${field} in ${path}`)
    }
  return registries
}

/** Parses the text of registries.yaml; `path` is for errors. @throws Error */
export function parseRegistries(text: string, path: string): Registries {
  const document = parseDocument(text)
  const fault = document.errors[0]
  if (fault !== undefined) throw new Error(`${path} is not YAML: ${fault.message.split("\n")[0]!.replace(/:$/, "")}`)
  const read = schema.safeParse(document.toJS() ?? {})
  if (!read.success) throw new Error(`invalid ${path}: ${told(read.error.issues[0]!)}`)
  const { mirrors, configs } = read.data
  return {
    mirrors: mapped(mirrors, (mirror) => ({ endpoint: mirror?.endpoint ?? [], rewrite: mirror?.rewrite ?? {} })),
    configs: mapped(configs, (config) => ({ auth: config?.auth ?? undefined, tls: config?.tls ?? undefined })),
  }
}

const mapped = <T, U>(from: Readonly<Record<string, T>> | null | undefined, map: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(from ?? {}).map(([name, value]) => [name, map(value)]))

function told({ path, message }: z.core.$ZodIssue): string {
  const field = path
    .map((part, i) =>
      typeof part === "number"
        ? `[${part}]`
        : /^\w+$/.test(String(part))
          ? `${i === 0 ? "" : "."}${String(part)}`
          : `[${JSON.stringify(part)}]`,
    )
    .join("")
  return field === "" ? message : `${field}: ${message}`
}

function checkReadable(path: string, field: string): void {
  try {
    readFileSync(path)
  } catch (err) {
    throw new Error(`Cannot read ${path}, which ${field} names: ${(err as Error).message}`, { cause: err })
  }
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

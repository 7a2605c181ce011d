import { parseDocument } from "yaml"
import { z } from "zod"
import { compileRe2 } from "../../../pkg/re2/re2.ts"
import { endpointUrl, type Registries } from "./registries.ts"

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

/** Parses the text of registries.yaml; `path` is for errors. @throws Error */
export function parseRegistries(text: string, path: string): Registries {
  const document = parseDocument(text)
  const fault = document.errors[0]
  if (fault !== undefined) throw new Error(`${path} is not YAML: ${fault.message.split("\n")[0]!.replace(/:$/, "")}`)
  const read = schema.safeParse(document.toJS() ?? {})
  if (!read.success) throw new Error(`invalid ${path}: ${issueText(read.error.issues[0]!)}`)
  const { mirrors, configs } = read.data
  return {
    mirrors: mapped(mirrors, (mirror) => ({ endpoint: mirror?.endpoint ?? [], rewrite: mirror?.rewrite ?? {} })),
    configs: mapped(configs, (config) => ({ auth: config?.auth ?? undefined, tls: config?.tls ?? undefined })),
  }
}

const mapped = <T, U>(from: Readonly<Record<string, T>> | null | undefined, map: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(from ?? {}).map(([name, value]) => [name, map(value)]))

function issueText({ path, message }: z.core.$ZodIssue): string {
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

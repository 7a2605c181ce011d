/** `-f`, `-k` and `-R`. */
export interface FilenameOptions {
  readonly filenames: readonly string[]
  readonly kustomize: string
  readonly recursive: boolean
}

export interface ResourceTuple {
  readonly resource: string
  readonly name: string
}

export const unique = (values: readonly string[]): readonly string[] => [...new Set(values)]

/** `a,b x y` means `a/x a/y b/x b/y`. */
export function perResource(args: readonly string[]): readonly string[] {
  const [first = "", ...names] = args
  const types = unique(first.split(","))
  if (names.length === 0 || types.length < 2) return args
  return types.flatMap((type) => names.map((name) => `${type}/${name}`))
}

/** Whether the arguments are all TYPE/NAME. @throws Error when only some are */
export function combinedTypes(args: readonly string[], program: string): boolean {
  const combined = args.filter((arg) => arg.includes("/")).length
  if (combined > 0 && combined !== args.length)
    throw new Error(
      `there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. '${program} get resource/<resource_name>' instead of '${program} get resource resource/<resource_name>'`,
    )
  return combined > 0
}

/** Splits TYPE/NAME; undefined without a slash. @throws Error when one of them is missing */
export function splitTypeName(arg: string): ResourceTuple | undefined {
  if (!arg.includes("/")) return undefined
  const parts = arg.split("/")
  if (parts.length !== 2) throw new Error("arguments in resource/name form may not have more than one slash")
  const [resource, name] = parts as [string, string]
  if (resource === "" || name === "" || unique(resource.split(",")).length !== 1)
    throw new Error("arguments in resource/name form must have a single resource and name")
  return { resource, name }
}

/** Whether the arguments name objects, and not only types. @throws Error as combinedTypes */
export function hasNames(args: readonly string[], program: string): boolean {
  const each = perResource(args)
  return combinedTypes(each, program) || each.length > 1
}

export class MissingResource extends Error {
  override readonly name = "MissingResource"
}

export const missingResource = (local: boolean): Error =>
  local
    ? new Error(
        "error: you must specify resources by --filename when --local is set.\nExample resource specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'",
      )
    : new MissingResource(
        "You must provide one or more resources by argument or filename.\nExample resource specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'\n   '<resource> <name>'\n   '<resource>'",
      )

/** @throws Error when neither -f nor -k is given. Source: cli-runtime FilenameOptions.RequireFilenameOrKustomize */
export function requireFiles({ filenames, kustomize }: FilenameOptions): void {
  if ((filenames ?? []).length === 0 && (kustomize ?? "") === "") throw new Error("must specify one of -f and -k")
}

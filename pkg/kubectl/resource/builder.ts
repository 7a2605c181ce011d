import { Buffer } from "node:buffer"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { parseLabelSelector, type LabelMatcher } from "../../apimachinery/selectors/labels.ts"
import { Aggregate } from "../errors/aggregate.ts"
import { goPathError } from "../environment/files.ts"
import { parseGroupVersion } from "../rest/json.ts"
import type { RestClient } from "../rest/rest-client.ts"
import type { RestMapping } from "../rest/rest-mapper.ts"
import { Info } from "./info.ts"
import { ObjectMapper } from "./mapper.ts"
import { expandPattern, filesAt, FILE_EXTENSIONS } from "./paths.ts"
import {
  combinedTypes,
  missingResource,
  perResource,
  splitTypeName,
  unique,
  type ResourceTuple,
} from "./resource-args.ts"
import type { BuilderOptions, BuilderParts } from "./builder-options.ts"
import { mappingFor } from "./mapping-for.ts"
import { Result } from "./result.ts"
import { Selector } from "./selector.ts"
import { fileVisitor, textVisitor, urlVisitor } from "./stream-visitor.ts"
import {
  continuing,
  decorated,
  eager,
  filterNamespace,
  filtered,
  flattened,
  inOrder,
  requireNamespace,
  retrieveLatest,
  retrieveLazy,
  setNamespace,
  single,
  type Visit,
  type Visitor,
} from "./visitor.ts"

/** Finds what a command line names. @throws Aggregate with all that is wrong with it, before anything is visited */
export async function build(parts: BuilderParts, options: BuilderOptions): Promise<Result> {
  return new Builder(parts, options).result()
}

class Builder {
  readonly #parts: BuilderParts
  readonly #options: BuilderOptions
  readonly #mapper: ObjectMapper
  readonly #errors: unknown[] = []
  readonly #paths: Visitor[] = []
  readonly #tuples: ResourceTuple[] = []
  #types: readonly string[] = []
  #names: readonly string[] = []
  readonly #namespace: string
  #labelSelector: string | undefined
  #fieldSelector: string | undefined
  #isStream = false
  #isFolder = false
  #stdinInUse: boolean

  constructor(parts: BuilderParts, options: BuilderOptions) {
    this.#parts = parts
    this.#options = options
    this.#namespace = options.allNamespaces === true ? "" : (options.namespace ?? "")
    this.#stdinInUse = options.stdinInUse ?? false
    this.#mapper = new ObjectMapper({
      restMapper: parts.restMapper,
      client: () => this.#client(),
      isLocal: () => options.local === true,
      scheme: options.scheme,
      transform: () => options.transform,
    })
  }

  async #client(): Promise<RestClient> {
    const client = await this.#parts.client(this.#stdinInUse)
    const { scheme } = this.#options
    if (scheme === undefined) return client
    const { checkRegistered } = await import("./typed-scheme.ts")
    return client.accepting((object) => checkRegistered(object, scheme))
  }

  async result(): Promise<Result> {
    await this.#readFiles()
    this.#readSelectors()
    await this.#readArgs()
    if (this.#errors.length > 0) throw new Aggregate(this.#errors)
    if (this.#options.selectAll === true) this.#labelSelector = ""
    const found = await this.#visitors()
    const {
      continueOnError = false,
      flatten = false,
      defaultNamespace = false,
      enforceNamespace = false,
    } = this.#options
    let { visitor } = found
    if (flatten) visitor = flattened(visitor, this.#mapper)
    const helpers: Visit[] = [
      ...(defaultNamespace ? [setNamespace(this.#namespace)] : []),
      ...(enforceNamespace ? [requireNamespace(this.#namespace)] : []),
      filterNamespace,
      ...((this.#options.requireObject ?? true) ? [retrieveLazy] : []),
    ]
    if (continueOnError) visitor = continuing(visitor)
    return new Result({ ...found, visitor: decorated(visitor, helpers) })
  }

  async #readFiles(): Promise<void> {
    const { filenames = [], kustomize = "", recursive = false } = this.#options.files ?? {}
    if (filenames.length > 0 && kustomize !== "") this.#errors.push(new Error("only one of -f or -k can be specified"))
    if (kustomize !== "" && recursive) this.#errors.push(new Error("the -k flag can't be used with -f or -R"))
    if (this.#errors.length > 0) return
    const { environment } = this.#parts
    const { validate, stream } = this.#options
    if (stream !== undefined) {
      const read = () => Promise.resolve(new TextEncoder().encode(stream.text))
      this.#isStream = true
      this.#paths.push(textVisitor(read, stream.source, this.#mapper, validate))
    }
    for (const name of filenames)
      if (name === "-") this.#readStdin()
      else if (name.startsWith("http://") || name.startsWith("https://")) {
        if (URL.canParse(name)) this.#paths.push(urlVisitor(environment, new URL(name), this.#mapper, validate))
        else
          this.#errors.push(
            new Error(
              `the URL passed to filename ${goQuoted(name)} is not valid: parse ${goQuoted(name)}: invalid URL`,
            ),
          )
      } else await this.#readPath(name, recursive)
    if (kustomize === "") return
    const read = async () => new TextEncoder().encode(await this.#parts.kustomize(kustomize))
    this.#paths.push(textVisitor(read, kustomize, this.#mapper, validate))
  }

  #readStdin(): void {
    this.#isStream = true
    if (this.#stdinInUse) this.#errors.push(new Error("standard input cannot be used for multiple arguments"))
    this.#stdinInUse = true
    const { stdin } = this.#parts.environment
    const read = async () => {
      const parts: Uint8Array[] = []
      for await (const part of stdin) parts.push(part)
      return Buffer.concat(parts)
    }
    this.#paths.push(textVisitor(read, "STDIN", this.#mapper, this.#options.validate))
  }

  async #readPath(pattern: string, recursive: boolean): Promise<void> {
    const { environment } = this.#parts
    let paths: readonly string[]
    try {
      paths = await expandPattern(environment.files, pattern)
    } catch (err) {
      this.#errors.push(err)
      return
    }
    for (const path of paths)
      try {
        const found = await filesAt(environment.files, path, recursive)
        if (found.length > 1) this.#isFolder = true
        for (const file of found) this.#paths.push(fileVisitor(environment, file, this.#mapper, this.#options.validate))
      } catch (err) {
        this.#errors.push(
          new Error(`error reading ${goQuoted(path)}: ${goPathError("open", path, err).message}`, { cause: err }),
        )
      }
    if (this.#paths.length === 0 && this.#errors.length === 0)
      this.#errors.push(
        new Error(`error reading [${paths.join(" ")}]: recognized file extensions are [${FILE_EXTENSIONS.join(" ")}]`),
      )
  }

  #readSelectors(): void {
    const { labelSelector = "", fieldSelector = "", selectAll = false } = this.#options
    if (labelSelector.trim() !== "") this.#labelSelector = labelSelector.trim()
    if (fieldSelector.trim() !== "") this.#fieldSelector = fieldSelector.trim()
    if (selectAll && (this.#labelSelector !== undefined || this.#fieldSelector !== undefined))
      this.#errors.push(new Error("setting 'all' parameter but found a non empty selector. "))
  }

  async #readArgs(): Promise<void> {
    const { args = [], allowEmptySelector = false, defaultType, names = [] } = this.#options
    try {
      for (const name of names) {
        const tuple = splitTypeName(name)
        if (tuple !== undefined) this.#tuples.push(tuple)
        else if (defaultType === undefined || defaultType === "")
          this.#errors.push(new Error(`the argument ${goQuoted(name)} must be RESOURCE/NAME`))
        else this.#tuples.push({ resource: defaultType, name })
      }
      const each = perResource(args)
      if (combinedTypes(each, this.#parts.environment.name)) {
        for (const arg of each) {
          const tuple = splitTypeName(arg)
          if (tuple !== undefined) this.#tuples.push(tuple)
        }
        return
      }
      const [types, ...rest] = each
      if (types === undefined) return
      this.#types = unique((await this.#replaceCategories(types)).split(","))
      this.#names = rest
      if (rest.length === 0 && this.#labelSelector === undefined && allowEmptySelector) this.#labelSelector = ""
    } catch (err) {
      this.#errors.push(err)
    }
  }

  /** Replaces categories such as `all` by their resources. */
  async #replaceCategories(types: string): Promise<string> {
    const replaced: string[] = []
    for (const type of types.split(",")) {
      const inCategory = await this.#category(type)
      replaced.push(inCategory.length === 0 ? type : inCategory.join(","))
    }
    return replaced.join(",")
  }

  async #category(name: string): Promise<readonly string[]> {
    const discovery = await this.#parts.discovery()
    let lists
    try {
      ;({ lists } = await discovery.groupsAndResources())
    } catch {
      // The mapping of the type meets the same error, and says so.
      return []
    }
    return lists.flatMap(({ groupVersion, resources }) => {
      const { group } = parseGroupVersion(groupVersion)
      return resources
        .filter(({ categories }) => categories?.includes(name) === true)
        .map((resource) => (group === "" ? resource.name : `${resource.name}.${group}`))
    })
  }

  async #visitors(): Promise<ConstructorParameters<typeof Result>[0]> {
    if (this.#paths.length > 0) return this.#byPaths()
    if (this.#labelSelector !== undefined || this.#fieldSelector !== undefined) return this.#bySelector()
    if (this.#tuples.length > 0) return this.#byResource()
    if (this.#names.length > 0) return this.#byName()
    if (this.#types.length > 0) {
      for (const type of this.#types) await this.#mappingFor(type)
      throw new Error("resource(s) were provided, but no name was specified")
    }
    throw missingResource(this.#options.local === true)
  }

  #byPaths(): ConstructorParameters<typeof Result>[0] {
    if (this.#types.length > 0)
      throw new Error("when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well")
    if (this.#names.length > 0) throw new Error("name cannot be provided when a path is specified")
    if (this.#tuples.length > 0) throw new Error("resource/name arguments cannot be provided when a path is specified")
    const { continueOnError = false, flatten = false, latest = false, defaultNamespace = false } = this.#options
    let visitor = continueOnError ? eager(this.#paths) : inOrder(this.#paths)
    if (flatten) visitor = flattened(visitor, this.#mapper)
    if (latest) {
      if (defaultNamespace) visitor = decorated(visitor, [setNamespace(this.#namespace)])
      visitor = decorated(visitor, [retrieveLatest])
    }
    if (this.#labelSelector !== undefined && this.#labelSelector !== "")
      visitor = filtered(visitor, labelFilter(this.#labelSelector))
    return {
      visitor,
      sources: this.#paths,
      singleItemImplied: !this.#isFolder && !this.#isStream && this.#paths.length === 1,
      targetsSingleItems: true,
    }
  }

  async #bySelector(): Promise<ConstructorParameters<typeof Result>[0]> {
    if (this.#names.length > 0) throw new Error("name cannot be provided when a selector is specified")
    if (this.#tuples.length > 0)
      throw new Error("selectors and the all flag cannot be used when passing resource/name arguments")
    if (this.#types.length === 0) throw new Error("at least one resource must be specified to use a selector")
    if ((this.#options.subresource ?? "") !== "")
      throw new Error("subresource cannot be used when bulk resources are specified")
    const mappings = await this.#typeMappings()
    const sources: Selector[] = []
    for (const mapping of mappings)
      sources.push(
        new Selector({
          client: await this.#client(),
          mapping,
          namespace: mapping.namespaced ? this.#namespace : "",
          labelSelector: this.#labelSelector ?? "",
          fieldSelector: this.#fieldSelector ?? "",
          limit: this.#options.chunkSize ?? 0,
          transform: this.#options.transform,
        }),
      )
    return { visitor: this.#options.continueOnError === true ? eager(sources) : inOrder(sources), sources }
  }

  async #byResource(): Promise<ConstructorParameters<typeof Result>[0]> {
    if (this.#types.length > 0)
      throw new Error("you may not specify individual resources and bulk resources in the same call")
    const mappings = new Map<string, RestMapping>()
    for (const { resource } of this.#tuples)
      if (!mappings.has(resource)) mappings.set(resource, await this.#mappingFor(resource))
    if (
      this.#options.singleResourceType === true &&
      new Set([...mappings.values()].map(({ resource }) => JSON.stringify(resource))).size > 1
    )
      throw new Error("you may only specify a single resource type")
    const sources: Visitor[] = []
    for (const { resource, name } of this.#tuples)
      sources.push(single(await this.#named(mappings.get(resource)!, name)))
    return {
      visitor: this.#options.continueOnError === true ? eager(sources) : inOrder(sources),
      sources,
      singleItemImplied: this.#tuples.length === 1,
      targetsSingleItems: true,
    }
  }

  async #byName(): Promise<ConstructorParameters<typeof Result>[0]> {
    if (this.#types.length === 0) throw new Error("you must provide a resource and a resource name together")
    if (this.#types.length > 1) throw new Error("you must specify only one resource")
    const [mapping] = await this.#typeMappings()
    const sources: Visitor[] = []
    for (const name of this.#names) sources.push(single(await this.#named(mapping!, name)))
    return { visitor: inOrder(sources), sources, singleItemImplied: this.#names.length === 1, targetsSingleItems: true }
  }

  async #named(mapping: RestMapping, name: string): Promise<Info> {
    if (mapping.namespaced && this.#namespace === "")
      throw new Error(
        this.#options.allNamespaces === true
          ? "a resource cannot be retrieved by name across all namespaces"
          : "namespace may not be empty when retrieving a resource by name",
      )
    return new Info({
      client: await this.#client(),
      mapping,
      namespace: mapping.namespaced ? this.#namespace : "",
      name,
      subresource: this.#options.subresource ?? "",
      transform: this.#options.transform,
    })
  }

  async #typeMappings(): Promise<readonly RestMapping[]> {
    if (this.#types.length > 1 && this.#options.singleResourceType === true)
      throw new Error("you may only specify a single resource type")
    const mappings = new Map<string, RestMapping>()
    for (const type of this.#types) {
      const mapping = await this.#mappingFor(type)
      const key = JSON.stringify(mapping.kind)
      if (!mappings.has(key)) mappings.set(key, mapping)
    }
    return [...mappings.values()]
  }

  async #mappingFor(type: string): Promise<RestMapping> {
    return mappingFor(await this.#parts.restMapper(), type)
  }
}

/** @throws Error for a selector that is none */
function labelFilter(selector: string): (info: Info) => boolean {
  let matcher: LabelMatcher
  try {
    matcher = parseLabelSelector(selector)
  } catch (err) {
    throw new Error(`the provided selector ${goQuoted(selector)} is not valid: ${(err as Error).message}`, {
      cause: err,
    })
  }
  return ({ object }) => matcher.matches(object?.metadata?.labels)
}

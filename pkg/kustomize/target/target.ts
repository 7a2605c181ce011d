import { pushAll } from "../../lists/push-all.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { goQuoted } from "../../apimachinery/go/go-text.ts"

import { DEFAULT_CONFIG, spec } from "../config/default-config.ts"
import { readConfigs } from "../config/read-config.ts"
import { readCrdConfig } from "../config/crd-config.ts"
import { mergeConfigs } from "../config/transformer-config.ts"
import type { HelmOptions } from "../generators/helm.ts"
import {
  checkKustomization,
  COMPONENT,
  deprecations,
  fixed,
  readKustomization,
  type Kustomization,
} from "../kustomization/kustomization.ts"
import { HttpError, type FileLoader } from "../loader/file-loader.ts"
import { TimeoutError } from "../loader/git-clone.ts"
import { joinPath } from "../../apimachinery/go/go-path.ts"
import { causeOf, prefixed, withPrefix, withPrefixAsync } from "../node/errors.ts"
import * as annotation from "../resource/annotations.ts"
import { checkMetadata } from "../resource/metadata.ts"
import { appendPath, NO_ORIGIN, originText, parseOrigin, type Origin } from "../resource/origin.ts"
import { readResources, readResourcesOf } from "../resource/read-resources.ts"
import type { Resource } from "../resource/resource.ts"
import { ResourceMap } from "../resource/resource-map.ts"

import type { Schemas } from "../schema/schemas.ts"
import { HASH_TRANSFORMER } from "../transformers/hash.ts"
import { addEntries } from "../transformers/labels.ts"
import type { Generator, Transformer } from "../transformers/transformer.ts"
import { Accumulator, givenVarText } from "./accumulator.ts"
import { builtInGenerators, builtInTransformers, type BuiltIn, type BuiltInContext } from "./built-ins.ts"
import { loadKustomizationFile } from "./kustomization-file.ts"
import { loadGenerator, loadTransformer } from "./plugins.ts"

/** What all kustomizations of a build share. */
export interface TargetContext {
  readonly schemas: Schemas
  readonly helm: HelmOptions
  /** Gets warnings, each a line. */
  readonly warn: (message: string) => void
  /** Gets lines of a log. */
  readonly log: (message: string) => void
}

interface WithOrigin<T> {
  readonly plugin: T
  readonly origin: Origin | undefined
}

/** One kustomization. Source: kustomize api/internal/target/kusttarget.go. */
export class Target {
  readonly kustomization: Kustomization
  readonly #loader: FileLoader
  readonly #context: TargetContext
  readonly #fileName: string
  #origin: Origin | undefined
  #outerNamespace = ""

  private constructor(
    loader: FileLoader,
    context: TargetContext,
    file: { name: string; kustomization: Kustomization },
  ) {
    this.#loader = loader
    this.#context = context
    this.#fileName = file.name
    this.kustomization = file.kustomization
  }

  static async load(loader: FileLoader, context: TargetContext): Promise<Target> {
    const { name, text } = await loadKustomizationFile(loader)
    const given = readKustomization(text)
    for (const warning of deprecations(given)) context.warn(warning)
    const kustomization = fixed(given)
    checkKustomization(kustomization, loader.root)
    return new Target(loader, context, { name, kustomization })
  }

  /** Takes over the schema that the kustomization brings, if it does. */
  async setSchema(overrides: boolean): Promise<void> {
    const openApi = this.kustomization.openapi ?? {}
    const path = openApi["path"]
    const document = path === undefined ? undefined : await this.#loader.loadText(path)
    this.#context.schemas.set(openApi, document, overrides)
  }

  /** Returns the objects of the kustomization, with everything done that is done once at the end. */
  async build(): Promise<ResourceMap> {
    if ((this.kustomization.buildMetadata ?? []).length > 0) this.#origin = NO_ORIGIN
    const all = await this.#accumulate(new Accumulator())
    HASH_TRANSFORMER.transform(all.map)
    all.fixNameReferences()
    all.resolveVars(this.#context.log)
    this.#dropLocal(all.map)
    return all.map
  }

  #dropLocal(map: ResourceMap): void {
    for (const resource of map.resources) {
      if (resource.node === undefined || resource.isEmpty) continue
      checkMetadata(resource.node)
      const local = resource.annotations[annotation.LOCAL_CONFIG]
      const isLocal = local !== undefined && local !== "false"
      if (isLocal) map.remove(resource.currentId)
    }
  }

  async #accumulate(into: Accumulator): Promise<Accumulator> {
    const { kustomization } = this
    const loader = this.#loader
    await withPrefixAsync("accumulating resources", () => this.#addResources(into, kustomization.resources ?? []))
    const configurations = kustomization.configurations ?? []
    into.mergeConfig(
      configurations.length === 0
        ? DEFAULT_CONFIG
        : mergeConfigs(DEFAULT_CONFIG, await readConfigs(loader, configurations)),
    )
    const crds = kustomization.crds ?? []
    into.mergeConfig(await withPrefixAsync(`loading CRDs [${crds.join(" ")}]`, () => readCrdConfig(loader, crds)))
    await this.#generate(into)
    const all = await withPrefixAsync("accumulating components", () =>
      this.#addComponents(into, kustomization.components ?? []),
    )
    await this.#transform(all)
    await this.#validate(all)
    const vars = kustomization.vars ?? []
    withPrefix(`merging vars [${vars.map(givenVarText).join(" ")}]`, () => all.mergeVars(vars))
    return all
  }

  get #builtIns(): BuiltInContext {
    const { schemas, helm } = this.#context
    return { loader: this.#loader, schemas, helm, outerNamespace: this.#outerNamespace }
  }

  async #generate(into: Accumulator): Promise<void> {
    const generators: WithOrigin<Generator>[] = (await builtInGenerators(this.kustomization, this.#builtIns)).map(
      (builtIn) => this.#withOrigin(builtIn),
    )
    await withPrefixAsync("loading generator plugins", async () => {
      for (const resource of await this.#pluginConfigs(this.kustomization.generators ?? [], "generator"))
        generators.push({ plugin: await loadGenerator(resource, this.#builtIns), origin: configuredBy(resource) })
    })
    for (const { plugin, origin } of generators) {
      const map = await plugin.generate()
      map.addOrigin(origin)
      // Upstream prints the generator's address in memory.
      withPrefix("merging from generator &{0xc000000000 <nil>}", () => into.map.absorbAll(map))
    }
  }

  #withOrigin<T>({ kind, plugin }: BuiltIn<T>): WithOrigin<T> {
    if (this.#origin === undefined) return { plugin, origin: undefined }
    const { repo, ref, path } = this.#origin
    const by = { apiVersion: "builtin", kind, name: "", namespace: "" }
    return {
      plugin,
      origin: { ...NO_ORIGIN, repo, ref, configuredIn: joinPath(path, this.#fileName), configuredBy: by },
    }
  }

  /** Returns the objects that configure plugins: entries are such objects themselves, or paths of them. */
  async #pluginConfigs(entries: readonly string[], what: "generator" | "transformer"): Promise<readonly Resource[]> {
    const configs = new Accumulator()
    const paths: string[] = []
    for (const entry of entries) {
      let resources: readonly Resource[]
      try {
        resources = ResourceMap.of(readResources(entry, this.#context.schemas)).resources
      } catch {
        paths.push(entry)
        continue
      }
      if (this.#origin !== undefined)
        for (const resource of resources)
          resource.replaceAnnotation(annotation.ORIGIN, originText(appendPath(this.#origin, this.#fileName)))
      withPrefix(`configuring external ${what}`, () => configs.map.appendAll(resources))
    }
    await this.#addResources(configs, paths)
    return configs.map.resources
  }

  async #transform(all: Accumulator): Promise<void> {
    const transformers: WithOrigin<Transformer>[] = (
      await builtInTransformers(this.kustomization, all.config, this.#builtIns)
    ).map((builtIn) => this.#withOrigin(builtIn))
    pushAll(transformers, await this.#loadTransformers(this.kustomization.transformers ?? []))
    for (const { plugin, origin } of transformers) {
      plugin.transform(all.map)
      if (origin !== undefined) all.map.addTransformation(origin)
      all.map.dropEmpty()
    }
  }

  async #loadTransformers(entries: readonly string[]): Promise<readonly WithOrigin<Transformer>[]> {
    const loaded: WithOrigin<Transformer>[] = []
    for (const resource of await this.#pluginConfigs(entries, "transformer"))
      loaded.push({ plugin: await loadTransformer(resource, this.#builtIns), origin: configuredBy(resource) })
    return loaded
  }

  async #validate(all: Accumulator): Promise<void> {
    for (const { plugin } of await this.#loadTransformers(this.kustomization.validators ?? [])) {
      const before = all.map.copy().resources.map((resource) => resource.toYaml())
      plugin.transform(all.map)
      const after = all.map.copy().resources.map((resource) => {
        const { "validated-by": _, ...labels } = resource.labels
        if (Object.keys(labels).length < Object.keys(resource.labels).length) resource.replaceLabels(labels)
        return resource.toYaml()
      })
      if (before.join("---\n") !== after.join("---\n"))
        throw new Error("validator shouldn't modify the resource map: nodes unequal")
    }
  }

  async #addResources(into: Accumulator, paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      try {
        await this.#addFile(into, path)
      } catch (err) {
        await this.#addFolder(into, path, err)
      }
    }
  }

  async #addFile(into: Accumulator, path: string): Promise<void> {
    const resources = await withPrefixAsync(`accumulating resources from '${path}'`, async () =>
      ResourceMap.of(readResourcesOf(path, await this.#loader.loadText(path), this.#context.schemas)),
    )
    if (this.#origin !== undefined) {
      const origin = originText(appendPath(this.#origin, path))
      const specs = [spec("metadata/annotations", {}, true)]
      for (const { node } of resources.resources) addEntries(node!, { [annotation.ORIGIN]: origin }, specs)
    }
    withPrefix(`merging resources from '${path}'`, () => into.map.appendAll(resources.resources))
  }

  /** Adds a kustomization at a path that is no file with objects; `fileError` says why not. */
  async #addFolder(into: Accumulator, path: string, fileError: unknown): Promise<void> {
    if (causeOf(fileError, HttpError) !== undefined) throw fileError
    const prefix = `accumulation err='${errorMessage(fileError)}'`
    let loader: FileLoader
    try {
      loader = await this.#loader.child(path)
    } catch (err) {
      const isMalformed = errorMessage(fileError).includes("MalformedYAMLError")
      if (isMalformed && causeOf(err, TimeoutError) === undefined) throw fileError
      throw prefixed(prefix, err)
    }
    await withPrefixAsync(prefix, async () => {
      const child = await this.#accumulateChild(loader, path, undefined)
      withPrefix(`recursed merging from path '${loader.root}'`, () => into.merge(child))
    })
  }

  async #addComponents(into: Accumulator, paths: readonly string[]): Promise<Accumulator> {
    let all = into
    for (const path of paths) {
      let loader: FileLoader
      try {
        loader = await this.#loader.child(path)
      } catch (err) {
        throw new Error(`loader.New ${goQuoted(errorMessage(err))}`, { cause: err })
      }
      try {
        const child = await this.#accumulateChild(loader, path, all)
        all = new Accumulator()
        all.merge(child)
      } catch (err) {
        throw new Error(`accumulateDirectory: ${goQuoted(errorMessage(err))}`, { cause: err })
      }
    }
    return all
  }

  /** Accumulates a kustomization that this one includes; a component works on what is in `into`. */
  async #accumulateChild(loader: FileLoader, path: string, into: Accumulator | undefined): Promise<Accumulator> {
    try {
      const child = await withPrefixAsync(`couldn't make target for path '${loader.root}'`, () =>
        Target.load(loader, this.#context),
      )
      child.#origin = this.#origin === undefined ? undefined : appendPath(this.#origin, path)
      child.#outerNamespace = this.kustomization.namespace || this.#outerNamespace
      await child.setSchema(false)
      const isComponent = child.kustomization.kind === COMPONENT
      if (into !== undefined && !isComponent)
        throw new Error(`expected kind '${COMPONENT}' for path '${loader.root}' but got '${child.kustomization.kind}'`)
      if (into === undefined && isComponent)
        throw new Error(`expected kind != '${COMPONENT}' for path '${loader.root}'`)
      return await withPrefixAsync(`recursed accumulation of path '${loader.root}'`, () =>
        child.#accumulate(into ?? new Accumulator()),
      )
    } finally {
      await loader.cleanUp()
    }
  }
}

/** Returns the origin of what a plugin makes or changes: the object that configures it. */
function configuredBy(resource: Resource): Origin | undefined {
  const text = resource.annotations[annotation.ORIGIN]
  if (text === undefined) return undefined
  const { repo, ref, path } = parseOrigin(text)
  const { apiVersion, kind, name, namespace } = resource
  return { ...NO_ORIGIN, repo, ref, configuredIn: path, configuredBy: { apiVersion, kind, name, namespace } }
}

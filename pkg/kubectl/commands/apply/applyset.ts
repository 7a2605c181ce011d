import { createHash } from "node:crypto"
import { errorMessage } from "../../../errors/error-message.ts"
import { Aggregate } from "../../errors/aggregate.ts"
import { isConflict, isNotFound } from "../../errors/status-error.ts"
import type { Factory } from "../../factory/factory.ts"
import type { Info } from "../../resource/info.ts"
import { goJson, groupVersionText, type Unstructured } from "../../rest/json.ts"
import { gvkText, gvrText, type RestMapping } from "../../rest/rest-mapper.ts"
import type { ApplyOptions } from "./apply-options.ts"
import { helperOf, removePruned } from "./prune.ts"

const PREFIX = "applyset.kubernetes.io"
const TOOLING = `${PREFIX}/tooling`
const NAMESPACES = `${PREFIX}/additional-namespaces`
const KINDS = `${PREFIX}/contains-group-kinds`
const OLD_RESOURCES = `${PREFIX}/contains-group-resources`
const ID = `${PREFIX}/id`
const PART_OF = `${PREFIX}/part-of`
const PARENT_TYPE = `${PREFIX}/is-parent-type`
const TOOL = "kubectl"

/** The object that remembers what belongs to a set. */
export interface Parent {
  readonly mapping: RestMapping
  readonly name: string
  /** Empty for a cluster-wide one. */
  readonly namespace: string
}

/** Reads `--applyset`: RESOURCE.GROUP/NAME, or the name of a Secret. */
export async function parseParent(text: string, factory: Factory): Promise<Parent> {
  const at = text.indexOf("/")
  const [type, name] = at === -1 ? ["secrets", text] : [text.slice(0, at), text.slice(at + 1)]
  try {
    if (name === "") throw new Error("name cannot be blank")
    const dot = type.indexOf(".")
    const [resource, group] = dot === -1 ? [type, ""] : [type.slice(0, dot), type.slice(dot + 1)]
    const restMapper = await factory.restMapper()
    const kind = await restMapper.kindFor({ group, version: "", resource })
    const mapping = await restMapper.restMapping(kind.group, kind.kind)
    const { namespace, explicit } = await factory.namespace()
    return { mapping, name, namespace: explicit && mapping.namespaced ? namespace : "" }
  } catch (err) {
    throw new Error(`invalid parent reference ${JSON.stringify(text)}: ${errorMessage(err)}`, { cause: err })
  }
}

interface Members {
  readonly mappings: ReadonlyMap<string, RestMapping>
  readonly namespaces: ReadonlySet<string>
}

const NOTHING: Members = { mappings: new Map(), namespaces: new Set() }

/**
 * The objects that one configuration applies, so that those it no longer has are found. Source: kubectl
 * pkg/cmd/apply/applyset.go, KEP-3659.
 */
export class ApplySet {
  readonly #parent: Parent
  readonly #options: ApplyOptions
  readonly #version: string
  /** What belonged to the set before. */
  #before = NOTHING
  /** What belongs to it after this apply. */
  #after = NOTHING

  constructor(parent: Parent, options: ApplyOptions, version: string) {
    this.#parent = parent
    this.#options = options
    this.#version = version
  }

  get id(): string {
    const { mapping, name, namespace } = this.#parent
    const text = [name, namespace, mapping.kind.kind, mapping.kind.group].join(".")
    return `applyset-${createHash("sha256").update(text).digest("base64url")}-v1`
  }

  /** @throws Aggregate when the parent cannot be one */
  async validate(): Promise<void> {
    const { mapping, namespace } = this.#parent
    const errors: Error[] = []
    if (mapping.namespaced && namespace === "")
      errors.push(new Error("namespace is required to use namespace-scoped ApplySet"))
    if (!this.#isBuiltin) {
      const permitted = await this.#permittedParents().catch((err: unknown) => {
        errors.push(new Error(`identifying allowed custom resource parent types: ${errorMessage(err)}`, { cause: err }))
        return new Set<string>()
      })
      const { resource, group } = mapping.resource
      if (!permitted.has(group === "" ? resource : `${resource}.${group}`))
        errors.push(
          new Error(`resource ${JSON.stringify(gvrText(mapping.resource))} is not permitted as an ApplySet parent`),
        )
    }
    if (errors.length > 0) throw new Aggregate(errors)
  }

  get #isBuiltin(): boolean {
    const { group, version, resource } = this.#parent.mapping.resource
    return group === "" && version === "v1" && (resource === "secrets" || resource === "configmaps")
  }

  async #permittedParents(): Promise<ReadonlySet<string>> {
    const client = await this.#options.factory.client()
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    const list = await client.object({ method: "GET", path, query: { labelSelector: PARENT_TYPE } })
    const items = (list["items"] ?? []) as readonly Unstructured[]
    return new Set(items.map(({ metadata }) => metadata?.name ?? ""))
  }

  /** Labels the objects as members. @throws Error when one says itself that it is */
  label(infos: readonly Info[]): void {
    for (const info of infos) {
      const object = info.loaded
      if (object.metadata?.labels?.[PART_OF] !== undefined)
        throw new Error(`ApplySet label ${JSON.stringify(PART_OF)} already set in input data`)
      const labels = { ...object.metadata?.labels, [PART_OF]: this.id }
      info.object = { ...object, metadata: { ...object.metadata, labels } }
    }
  }

  /** Writes into the parent, before anything is applied, what may belong to the set in the end. */
  async begin(infos: readonly Info[]): Promise<void> {
    this.#before = await this.#read()
    this.#after = {
      mappings: new Map(infos.map(({ mapping }) => [groupKind(mapping), mapping])),
      namespaces: new Set(infos.filter(({ namespaced }) => namespaced).map(({ namespace }) => namespace)),
    }
    await this.#write({
      mappings: new Map([...this.#before.mappings, ...this.#after.mappings]),
      namespaces: new Set([...this.#before.namespaces, ...this.#after.namespaces]),
    })
  }

  /** Removes members that were not applied now, and then forgets them. */
  async prune(uids: ReadonlySet<string>): Promise<void> {
    const found: { readonly mapping: RestMapping; readonly namespace: string; readonly object: Unstructured }[] = []
    for (const mapping of this.#before.mappings.values()) {
      const helper = await helperOf(this.#options.factory, mapping)
      for (const namespace of mapping.namespaced ? this.#before.namespaces : [""])
        try {
          const list = await helper.list(namespace, { labelSelector: `${PART_OF}=${this.id}` })
          for (const object of (list["items"] ?? []) as readonly Unstructured[])
            if (!uids.has(object.metadata?.uid ?? "")) found.push({ mapping, namespace, object })
        } catch (err) {
          throw new Error(`listing ${gvkText(mapping.kind)} objects for pruning: ${errorMessage(err)}`, { cause: err })
        }
    }
    for (const { mapping, namespace, object } of found)
      try {
        await removePruned(this.#options, mapping, namespace, object)
      } catch (err) {
        const name = object.metadata?.name ?? ""
        const where = namespace === "" ? name : `${namespace}/${name}`
        throw new Error(`pruning ${groupKind(mapping)} ${where}: ${errorMessage(err)}`, { cause: err })
      }
    try {
      await this.#write(this.#after)
    } catch (err) {
      throw new Error(`apply and prune succeeded, but ApplySet update failed: ${errorMessage(err)}`, { cause: err })
    }
  }

  /** `secrets./name`, as messages name the parent. */
  get #text(): string {
    const { mapping, name } = this.#parent
    return JSON.stringify(`${mapping.resource.resource}.${mapping.resource.group}/${name}`)
  }

  async #read(): Promise<Members> {
    const { mapping, name, namespace } = this.#parent
    const helper = await helperOf(this.#options.factory, mapping)
    let parent: Unstructured
    try {
      parent = await helper.get(namespace, name)
    } catch (err) {
      if (!isNotFound(err))
        throw new Error(`failed to fetch ApplySet parent object ${this.#text}: ${errorMessage(err)}`, { cause: err })
      if (!this.#isBuiltin) throw new Error("custom resource ApplySet parents cannot be created automatically")
      return NOTHING
    }
    const { labels = {}, annotations = {} } = parent.metadata ?? {}
    this.#checkParent(labels, annotations)
    const named = (annotations[NAMESPACES] ?? "").split(",").filter((one) => one !== "")
    try {
      return {
        mappings: await this.#mappings(annotations),
        namespaces: new Set([...named, ...(mapping.namespaced ? [namespace] : [])]),
      }
    } catch (err) {
      throw new Error(`parsing ApplySet annotation on ${this.#text}: ${errorMessage(err)}`, { cause: err })
    }
  }

  #checkParent(labels: Readonly<Record<string, string>>, annotations: Readonly<Record<string, string>>): void {
    const tooling = annotations[TOOLING]
    const exists = `ApplySet parent object ${this.#text}`
    if (tooling === undefined)
      throw new Error(`${exists} already exists and is missing required annotation ${JSON.stringify(TOOLING)}`)
    const by = tooling.includes("/") ? tooling.slice(0, tooling.lastIndexOf("/")) : tooling
    if (by !== TOOL)
      throw new Error(`${exists} already exists and is managed by tooling ${JSON.stringify(by)} instead of "${TOOL}"`)
    if (labels[ID] === undefined) throw new Error(`${exists} exists and does not have required label ${ID}`)
    if (labels[ID] !== this.id)
      throw new Error(
        `${exists} exists and has incorrect value for label ${JSON.stringify(ID)} (got: ${labels[ID]}, want: ${this.id})`,
      )
  }

  async #mappings(annotations: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, RestMapping>> {
    const restMapper = await this.#options.factory.restMapper()
    const kinds = annotations[KINDS]
    const old = annotations[OLD_RESOURCES] ?? ""
    if (kinds === undefined && old === "")
      throw new Error(
        `kubectl requires the ${JSON.stringify(KINDS)} annotation to be set on all ApplySet parent objects`,
      )
    const found = new Map<string, RestMapping>()
    for (const text of (kinds ?? old).split(",").filter((one) => one !== "")) {
      const at = text.indexOf(".")
      const [first, group] = at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)]
      try {
        const of = kinds === undefined ? await restMapper.kindFor({ group, version: "", resource: first }) : undefined
        const mapping = await restMapper.restMapping(of?.group ?? group, of?.kind ?? first)
        found.set(groupKind(mapping), mapping)
      } catch (err) {
        const what =
          kinds === undefined
            ? `invalid group resource in ${JSON.stringify(OLD_RESOURCES)} annotation`
            : `could not find mapping for kind in ${JSON.stringify(KINDS)} annotation`
        throw new Error(`${what}: ${errorMessage(err)}`, { cause: err })
      }
    }
    return found
  }

  async #write({ mappings, namespaces }: Members): Promise<void> {
    const { mapping, name, namespace } = this.#parent
    const { dryRun, fieldValidation, factory } = this.#options
    if (dryRun === "client") return
    const { group, version, kind } = mapping.kind
    const body = goJson({
      kind,
      apiVersion: groupVersionText(group, version),
      metadata: {
        name,
        ...(namespace === "" ? {} : { namespace }),
        labels: { [ID]: this.id },
        annotations: {
          [TOOLING]: `${TOOL}/${this.#version}`,
          [KINDS]: [...mappings.keys()].sort().join(","),
          [NAMESPACES]: [...namespaces]
            .filter((one) => one !== namespace)
            .sort()
            .join(","),
        },
      },
    })
    const helper = await helperOf(factory, mapping)
    const apply = (force: boolean) =>
      helper.patch(namespace, name, "application/apply-patch+yaml", body, {
        fieldManager: `${TOOL}-applyset`,
        fieldValidation,
        serverDryRun: dryRun === "server",
        force,
      })
    try {
      await apply(false).catch((err: unknown) => {
        if (!isConflict(err)) throw err
        factory.log.warning(
          `WARNING: failed to update ApplySet: ${err.message}\nApplySet field manager ${TOOL}-applyset should own these fields. Retrying with conflicts forced.`,
          "applyset.go:433",
        )
        return apply(true)
      })
    } catch (err) {
      throw new Error(`failed to update ApplySet: ${errorMessage(err)}`, { cause: err })
    }
  }
}

const groupKind = ({ kind: { group, kind } }: RestMapping): string => (group === "" ? kind : `${kind}.${group}`)

import { parseYaml } from "../../yaml/yaml.ts"
import { RepoSpec } from "../loader/repo-spec.ts"
import { joinPath } from "../../apimachinery/go/go-path.ts"
import { textScalar, YamlNode } from "../node/yaml-node.ts"
import { scalarNodeOf } from "../node/from-value.ts"
import { writeNode } from "../node/write-node.ts"

/** Where an object comes from. Source: kustomize api/resource/origin.go. */
export interface Origin {
  readonly path: string
  readonly repo: string
  readonly ref: string
  /** The file that configures the generator or transformer. */
  readonly configuredIn: string
  readonly configuredBy: Configurer | undefined
}

interface Configurer {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace: string
}

export const NO_ORIGIN: Origin = { path: "", repo: "", ref: "", configuredIn: "", configuredBy: undefined }

/** Returns the origin of what a path leads to: a file, a folder, or a repository. */
export function appendPath(origin: Origin, path: string): Origin {
  const repo = RepoSpec.parse(path)
  if (!(repo instanceof RepoSpec)) return { ...origin, path: joinPath(origin.path, path) }
  return { ...origin, repo: repo.cloneSpec, ref: repo.ref, path: joinPath("", repo.rootPath) }
}

/** Returns the origin as it is in an annotation: YAML without empty fields. */
export const originText = (origin: Origin): string => writeNode(originNode(origin))

function originNode({ path, repo, ref, configuredIn, configuredBy }: Origin): YamlNode {
  const node = mapOf({ path, repo, ref, configuredIn })
  if (configuredBy !== undefined) {
    const by = mapOf({ ...configuredBy })
    if (by.content.length > 0) node.content.push(textScalar("configuredBy"), by)
  }
  return node
}

function mapOf(texts: Readonly<Record<string, string>>): YamlNode {
  const content = Object.entries(texts)
    .filter(([, text]) => text !== "")
    .flatMap(([name, text]) => [textScalar(name), scalarNodeOf(text)])
  return new YamlNode("map", { content })
}

/** Returns the text of several origins: those in an annotation and one more. */
export function originsOf(earlier: string | undefined, origin: Origin): string {
  const list = earlier === undefined ? [] : (parseYaml(earlier).value as readonly Partial<Origin>[])
  const nodes = [...list.map((one) => ({ ...NO_ORIGIN, ...one })), origin].map((one) =>
    originNode({ ...one, configuredBy: one.configuredBy && { ...NO_CONFIGURER, ...one.configuredBy } }),
  )
  return writeNode(new YamlNode("list", { content: nodes }))
}

const NO_CONFIGURER: Configurer = { apiVersion: "", kind: "", name: "", namespace: "" }

/** Parses an origin from an annotation. */
export const parseOrigin = (text: string): Origin => ({ ...NO_ORIGIN, ...(parseYaml(text).value as Partial<Origin>) })

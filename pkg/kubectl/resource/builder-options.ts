import type { Environment } from "../environment/environment.ts"
import type { Discovery } from "../rest/discovery.ts"
import type { RestClient } from "../rest/rest-client.ts"
import type { RestMapper } from "../rest/rest-mapper.ts"
import type { RequestTransform } from "./helper.ts"
import type { FilenameOptions } from "./resource-args.ts"
import type { ContentValidator } from "./stream-visitor.ts"

/** What a builder asks for when it needs a server. */
export interface BuilderParts {
  readonly environment: Environment
  /** `stdinInUse`: the input of the process is read, so no program that gives credentials may ask the user there. */
  readonly client: (stdinInUse: boolean) => Promise<RestClient>
  readonly restMapper: () => Promise<RestMapper>
  readonly discovery: () => Promise<Discovery>
  /** Builds a kustomization, as YAML. */
  readonly kustomize: (path: string) => Promise<string>
}

/** What to visit, and how. Source of names and defaults: cli-runtime pkg/resource/builder.go. */
export interface BuilderOptions {
  /** The arguments: types and names. */
  readonly args?: readonly string[]
  /** Whether a type alone means all of its objects. */
  readonly allowEmptySelector?: boolean
  /** A type for names that have none, as `kubectl exec web` means a pod. */
  readonly defaultType?: string
  readonly names?: readonly string[]
  readonly files?: FilenameOptions
  /** A text of objects, and what it is called in messages. */
  readonly stream?: { readonly text: string; readonly source: string }
  readonly namespace?: string
  /** Objects without a namespace are in the namespace above. */
  readonly defaultNamespace?: boolean
  /** Objects of other namespaces are an error. */
  readonly enforceNamespace?: boolean
  readonly allNamespaces?: boolean
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** All objects of the types, as `--all` means. */
  readonly selectAll?: boolean
  readonly subresource?: string
  /** How many objects a page of a list has. */
  readonly chunkSize?: number
  readonly singleResourceType?: boolean
  readonly continueOnError?: boolean
  readonly flatten?: boolean
  /** Objects of files are read from the server. */
  readonly latest?: boolean
  /** Whether objects that are only named are read from the server. */
  readonly requireObject?: boolean
  /**
   * The scheme into whose types objects are read, by its name in `scheme-names.ts`: objects of other kinds are errors.
   * Without it, objects may be of any kind.
   */
  readonly scheme?: string
  /** Asks the server for nothing. */
  readonly local?: boolean
  readonly transform?: RequestTransform
  readonly validate?: ContentValidator
  /** Whether another part of the command reads the input. */
  readonly stdinInUse?: boolean
}

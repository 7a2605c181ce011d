import { errorMessage } from "../../errors/error-message.ts"
import { parseYaml } from "../../yaml/yaml.ts"
import type { FieldSpec } from "../config/field-spec.ts"
import type { HelmChart } from "../generators/helm-arguments.ts"
import { decode } from "../go/decode.ts"
import { KUSTOMIZATION } from "./shapes.ts"

type Texts = Readonly<Record<string, string>>

/** Names objects by regular expressions and labels. Fields that are not given match everything. */
export interface Selector {
  readonly group?: string
  readonly version?: string
  readonly kind?: string
  readonly name?: string
  readonly namespace?: string
  readonly annotationSelector?: string
  readonly labelSelector?: string
}

export interface Patch {
  readonly path?: string
  readonly patch?: string
  readonly target?: Selector
  readonly options?: { readonly allowNameChange?: boolean; readonly allowKindChange?: boolean }
}

export interface Label {
  readonly pairs?: Texts
  readonly includeSelectors?: boolean
  readonly includeTemplates?: boolean
  readonly fields?: readonly Partial<FieldSpec>[]
}

export interface Image {
  readonly name?: string
  readonly newName?: string
  readonly tagSuffix?: string
  readonly newTag?: string
  readonly digest?: string
}

export interface Replica {
  readonly name?: string
  readonly count?: number
}

export interface FieldOptions {
  readonly delimiter?: string
  readonly index?: number
  readonly encoding?: string
  readonly create?: boolean
}

export interface SourceSelector {
  readonly group?: string
  readonly version?: string
  readonly kind?: string
  readonly name?: string
  readonly namespace?: string
  readonly fieldPath?: string
  readonly options?: FieldOptions
}

export interface TargetSelector {
  readonly select?: Selector
  readonly reject?: readonly Selector[]
  readonly fieldPaths?: readonly string[]
  readonly options?: FieldOptions
}

export interface Replacement {
  readonly source?: SourceSelector
  readonly targets?: readonly TargetSelector[]
  readonly sourceValue?: string
}

export interface ReplacementField extends Replacement {
  readonly path?: string
}

export interface Var {
  readonly name?: string
  readonly objref?: Selector & { readonly apiVersion?: string }
  readonly fieldref?: { readonly fieldPath?: string }
}

export interface SortOptions {
  readonly order?: string
  readonly legacySortOptions?: { readonly orderFirst?: readonly string[]; readonly orderLast?: readonly string[] }
}

export interface GeneratorOptions {
  readonly labels?: Texts
  readonly annotations?: Texts
  readonly disableNameSuffixHash?: boolean
  readonly immutable?: boolean
}

export interface GeneratorArgs {
  readonly namespace?: string
  readonly name?: string
  readonly behavior?: string
  readonly literals?: readonly string[]
  readonly files?: readonly string[]
  readonly envs?: readonly string[]
  readonly env?: string
  readonly options?: GeneratorOptions
}

export interface SecretArgs extends GeneratorArgs {
  readonly type?: string
}

/** The content of a kustomization file. Source: kustomize api/types/kustomization.go. */
export interface Kustomization {
  readonly apiVersion?: string
  readonly kind?: string
  readonly openapi?: Texts
  readonly namePrefix?: string
  readonly nameSuffix?: string
  readonly namespace?: string
  readonly commonLabels?: Texts
  readonly labels?: readonly Label[]
  readonly commonAnnotations?: Texts
  readonly patchesStrategicMerge?: readonly string[]
  readonly patchesJson6902?: readonly Patch[]
  readonly patches?: readonly Patch[]
  readonly images?: readonly Image[]
  readonly imageTags?: readonly Image[]
  readonly replacements?: readonly ReplacementField[]
  readonly replicas?: readonly Replica[]
  readonly vars?: readonly Var[]
  readonly sortOptions?: SortOptions
  readonly resources?: readonly string[]
  readonly components?: readonly string[]
  readonly crds?: readonly string[]
  readonly bases?: readonly string[]
  readonly configMapGenerator?: readonly GeneratorArgs[]
  readonly secretGenerator?: readonly SecretArgs[]
  readonly helmGlobals?: Pick<HelmChart, "chartHome" | "configHome">
  readonly helmCharts?: readonly HelmChart[]
  readonly helmChartInflationGenerator?: readonly Readonly<Record<string, unknown>>[]
  readonly generatorOptions?: GeneratorOptions
  readonly configurations?: readonly string[]
  readonly generators?: readonly string[]
  readonly transformers?: readonly string[]
  readonly validators?: readonly string[]
  readonly buildMetadata?: readonly string[]
}

/** Reads a kustomization file. @throws Error in kustomize's words */
export function readKustomization(text: string): Kustomization {
  try {
    return (decode(parseYaml(text).value, KUSTOMIZATION, { strict: true }) ?? {}) as Kustomization
  } catch (err) {
    throw new Error(`invalid Kustomization: ${errorMessage(err)}`, { cause: err })
  }
}

const FIX = "Run 'kustomize edit fix' to update your Kustomization automatically."
const EXPERIMENTAL_FIX = `[EXPERIMENTAL] ${FIX}`

/** Returns a warning for each deprecated field. */
export function deprecations(kustomization: Kustomization): readonly string[] {
  const warning = (field: keyof Kustomization, instead: string, fix = FIX): readonly string[] =>
    kustomization[field] === undefined
      ? []
      : [`# Warning: '${field}' is deprecated. Please use '${instead}' instead. ${fix}`]
  return [
    ...warning("bases", "resources"),
    ...warning("commonLabels", "labels"),
    ...warning("imageTags", "images"),
    ...warning("patchesJson6902", "patches"),
    ...warning("patchesStrategicMerge", "patches"),
    ...warning("vars", "replacements", EXPERIMENTAL_FIX),
  ]
}

const VERSION = "kustomize.config.k8s.io/v1beta1"
const COMPONENT_VERSION = "kustomize.config.k8s.io/v1alpha1"
export const COMPONENT = "Component"

/** Sets kind and version where they are missing, and moves what is in deprecated fields to the new ones. */
export function fixed(kustomization: Kustomization): Kustomization {
  const { bases, imageTags, helmChartInflationGenerator, ...rest } = kustomization
  const kind = kustomization.kind || "Kustomization"
  const joined = <T>(a: readonly T[] | undefined, b: readonly T[] | undefined) =>
    a === undefined && (b === undefined || b.length === 0) ? undefined : [...(a ?? []), ...(b ?? [])]
  return defined({
    ...rest,
    kind,
    apiVersion: kustomization.apiVersion || (kind === COMPONENT ? COMPONENT_VERSION : VERSION),
    resources: joined(kustomization.resources, bases),
    images: joined(kustomization.images, imageTags),
    configMapGenerator: kustomization.configMapGenerator?.map(withEnvs),
    secretGenerator: kustomization.secretGenerator?.map(withEnvs),
    helmCharts: joined(kustomization.helmCharts, helmChartInflationGenerator?.map(chartOf)),
  }) as Kustomization
}

const defined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

function withEnvs<T extends GeneratorArgs>(args: T): T {
  const { env, ...rest } = args
  return env === undefined || env === "" ? args : ({ ...rest, envs: [...(args.envs ?? []), env] } as unknown as T)
}

const chartOf = (old: Readonly<Record<string, unknown>>): HelmChart =>
  defined({
    name: old["chartName"],
    version: old["chartVersion"],
    repo: old["chartRepoUrl"],
    valuesFile: old["values"],
    valuesInline: old["valuesLocal"],
    valuesMerge: old["valuesMerge"],
    releaseName: old["releaseName"],
  }) as HelmChart

/** Checks kind and version, and that there is anything else. `root` is the folder of the file. @throws Error */
export function checkKustomization(kustomization: Kustomization, root: string): void {
  const { kind = "", apiVersion = "" } = kustomization
  if (Object.keys(kustomization).every((field) => field === "kind" || field === "apiVersion"))
    throw new Error("kustomization.yaml is empty")
  const faults: string[] = []
  if (kind !== "Kustomization" && kind !== COMPONENT) faults.push("kind should be Kustomization or Component")
  const required = kind === COMPONENT ? COMPONENT_VERSION : VERSION
  if (apiVersion !== required) faults.push(`apiVersion for ${kind} should be ${required}`)
  if (faults.length > 0) throw new Error(`Failed to read kustomization file under ${root}:\n${faults.join("\n")}`)
}

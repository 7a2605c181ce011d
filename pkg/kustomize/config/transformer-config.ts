import { withPrefix } from "../node/errors.ts"
import { mergeReferences, mergeSpecs, sortedByKind, type FieldSpec, type NameBackReference } from "./field-spec.ts"

/** The fields that the transformers change. Source: kustomize builtinconfig/transformerconfig.go. */
export interface TransformerConfig {
  readonly namePrefix: readonly FieldSpec[]
  readonly nameSuffix: readonly FieldSpec[]
  readonly namespace: readonly FieldSpec[]
  readonly commonLabels: readonly FieldSpec[]
  readonly labels: readonly FieldSpec[]
  readonly templateLabels: readonly FieldSpec[]
  readonly commonAnnotations: readonly FieldSpec[]
  readonly nameReference: readonly NameBackReference[]
  readonly varReference: readonly FieldSpec[]
  readonly images: readonly FieldSpec[]
  readonly replicas: readonly FieldSpec[]
}

export const EMPTY_CONFIG: TransformerConfig = {
  namePrefix: [],
  nameSuffix: [],
  namespace: [],
  commonLabels: [],
  labels: [],
  templateLabels: [],
  commonAnnotations: [],
  nameReference: [],
  varReference: [],
  images: [],
  replicas: [],
}

/** Returns both together. @throws Error when they disagree */
export function mergeConfigs(a: TransformerConfig, b: TransformerConfig): TransformerConfig {
  // Most kustomizations bring no configuration, so that both are the default.
  if (b === EMPTY_CONFIG || a === b) return a
  if (a === EMPTY_CONFIG) return b
  const specs = (field: Exclude<keyof TransformerConfig, "nameReference">, name: string) =>
    sortedByKind(withPrefix(`failed to merge ${name} fieldSpec`, () => mergeSpecs(a[field], b[field])))
  return {
    namePrefix: specs("namePrefix", "NamePrefix"),
    nameSuffix: specs("nameSuffix", "NameSuffix"),
    namespace: specs("namespace", "NameSpace"),
    commonAnnotations: specs("commonAnnotations", "CommonAnnotations"),
    commonLabels: specs("commonLabels", "CommonLabels"),
    labels: specs("labels", "Labels"),
    templateLabels: specs("templateLabels", "TemplateLabels"),
    varReference: specs("varReference", "VarReference"),
    nameReference: sortedByKind(
      withPrefix("failed to merge NameReference fieldSpec", () => mergeReferences(a.nameReference, b.nameReference)),
    ),
    images: specs("images", "Images"),
    replicas: specs("replicas", "Replicas"),
  }
}

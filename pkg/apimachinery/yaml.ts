import type { DocumentOptions, ParseOptions, SchemaOptions, Tags } from "yaml"

const NOT_PLAIN = ["timestamp", "binary", "omap", "pairs", "set"]

const plainTags = (tags: Tags): Tags =>
  tags.filter((tag) =>
    typeof tag === "string"
      ? !NOT_PLAIN.includes(tag)
      : tag.format !== "TIME" && !NOT_PLAIN.some((name) => tag.tag === `tag:yaml.org,2002:${name}`),
  )

/**
 * How Kubernetes reads YAML: the scalars of YAML 1.1 (`yes` is true), but neither its times nor its base-60 numbers,
 * which stay text. Source: sigs.k8s.io/yaml.
 */
export const KUBERNETES_YAML: ParseOptions & DocumentOptions & SchemaOptions = {
  schema: "yaml-1.1",
  version: "1.1",
  merge: true,
  uniqueKeys: false,
  logLevel: "silent",
  prettyErrors: false,
  customTags: plainTags,
}

/** Aliases may be followed so often in all: what a few lines can blow up to is bounded. */
export const MAX_ALIASES = 1000

import { createRequire } from "node:module"
import type * as yaml from "yaml"
import type { DocumentOptions, ParseOptions, SchemaOptions, Tags } from "yaml"

/**
 * Loads `yaml` with the first text, since it takes some 20 ms, and most tests and nodes have none. See
 * pkg/cel/compile.ts for why there are two ways.
 */
export const loadYaml = (): typeof yaml =>
  typeof require === "function"
    ? require("yaml") // oxlint-disable-line typescript/no-require-imports
    : createRequire(import.meta.url)("yaml")

const NOT_PLAIN = ["timestamp", "binary", "omap", "pairs", "set"]

const plainTags = (tags: Tags): Tags =>
  tags.filter((tag) =>
    typeof tag === "string"
      ? !NOT_PLAIN.includes(tag)
      : tag.format !== "TIME" && !NOT_PLAIN.some((name) => tag.tag === `tag:yaml.org,2002:${name}`),
  )

/**
 * Parses YAML as Kubernetes does: with the scalars of YAML 1.1 (`yes` is true), except its times and base-60 numbers,
 * which stay strings. Source: sigs.k8s.io/yaml.
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

/** The most aliases that a document may follow in all, which limits how much a few lines can expand to. */
export const MAX_ALIASES = 1000

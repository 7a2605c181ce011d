import type { FileLoader } from "../loader/file-loader.ts"
import type { Schemas } from "../schema/schemas.ts"
import type { Generator } from "../transformers/transformer.ts"

/** The flags about helm. */
export interface HelmOptions {
  readonly enabled: boolean
  /** The program that is run. */
  readonly command: string
  readonly apiVersions: readonly string[]
  readonly kubeVersion: string
  readonly debug: boolean
}

interface Context {
  readonly loader: FileLoader
  readonly schemas: Schemas
  readonly helm: HelmOptions
}

/** Returns a generator of the objects of a chart. Source: kustomize HelmChartInflationGenerator.go. */
export function helmGenerator(_chart: Readonly<Record<string, unknown>>, { helm }: Context): Generator {
  if (!helm.enabled) throw new Error("must specify --enable-helm")
  if (helm.command === "") throw new Error("must specify --helm-command")
  throw new Error(`helm charts are not supported`)
}

/** A file of a chart, by its path in the chart's folder. */
export interface ChartFile {
  readonly name: string
  readonly data: Uint8Array
}

/** A dependency as `Chart.yaml` declares it. */
export interface ChartDependency {
  readonly name: string
  readonly version?: string
  readonly repository?: string
  readonly condition?: string
  readonly tags?: readonly string[]
  readonly alias?: string
  readonly "import-values"?: readonly unknown[]
}

/** What `Chart.yaml` has. Source: helm.sh/helm/v3/pkg/chart/metadata.go. */
export interface ChartMetadata {
  readonly apiVersion: string
  readonly name: string
  readonly version: string
  readonly kubeVersion?: string
  readonly description?: string
  readonly type?: string
  readonly keywords?: readonly string[]
  readonly home?: string
  readonly sources?: readonly string[]
  readonly dependencies?: readonly ChartDependency[]
  readonly maintainers?: readonly { readonly name?: string; readonly email?: string; readonly url?: string }[]
  readonly icon?: string
  readonly appVersion?: string
  readonly deprecated?: boolean
  readonly annotations?: Readonly<Record<string, string>>
  readonly condition?: string
  readonly tags?: string
}

/** A chart with its dependencies. */
export interface Chart {
  readonly metadata: ChartMetadata
  /** The values of `values.yaml`, whose numbers are floats. */
  readonly values: Readonly<Record<string, unknown>>
  readonly templates: readonly ChartFile[]
  /** All other files, which templates can read, and the definitions in `crds/`. */
  readonly files: readonly ChartFile[]
  readonly dependencies: readonly Chart[]
  readonly schema?: Uint8Array
  readonly lock?: unknown
}

/** Returns the definitions in `crds/` of a chart and its dependencies, with the path in their chart. */
export function crdsOf(chart: Chart): readonly ChartFile[] {
  const isDefinition = ({ name }: ChartFile) => name.startsWith("crds/") && /\.(ya?ml|json)$/.test(name)
  return [...chart.files.filter(isDefinition), ...chart.dependencies.flatMap(crdsOf)]
}

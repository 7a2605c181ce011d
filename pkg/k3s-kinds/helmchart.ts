import { defineCustomResource, type ObjectOf } from "../operator/custom-resource/define-custom-resource.ts"
import { s } from "../operator/custom-resource/fields.ts"

/*
 * The kinds by which k3s's users install charts. Source of names and rules: k3s-io/helm-controller
 * pkg/apis/helm.cattle.io/v1/types.go.
 */

const GROUP = "helm.cattle.io"

const failurePolicy = s.oneOf("abort", "reinstall", "retry")
const named = s.object({ name: s.string().optional() }).optional()
const valuesSecrets = s
  .list(
    s.object({
      name: s.string().optional(),
      keys: s.list(s.string()).optional(),
      ignoreUpdates: s.boolean().optional(),
    }),
  )
  .optional()

/** The values of a chart, in the order in which they count. */
const valueSources = {
  valuesContent: s.string().optional(),
  values: s.any().optional(),
  valuesSecrets,
}

const condition = s.object({
  type: s.string(),
  status: s.string(),
  reason: s.string().optional(),
  message: s.string().optional(),
})

export const helmchart = defineCustomResource({
  group: GROUP,
  kind: "HelmChart",
  plural: "helmcharts",
  shortNames: ["hc"],
  scope: "Namespaced",
  versions: {
    v1: {
      storage: true,
      spec: s.object({
        targetNamespace: s.string().optional(),
        createNamespace: s.boolean().optional(),
        chart: s.string().optional(),
        version: s.string().optional(),
        repo: s.string().optional(),
        repoCA: s.string().optional(),
        repoCAConfigMap: named,
        set: s.map(s.intOrString()).optional(),
        ...valueSources,
        helmVersion: s.string().optional(),
        bootstrap: s.boolean().optional(),
        takeOwnership: s.boolean().optional(),
        serverSide: s.oneOf("true", "false", "auto").optional(),
        forceConflicts: s.boolean().optional(),
        chartContent: s.string().optional(),
        jobImage: s.string().optional(),
        backOffLimit: s.integer().optional(),
        timeout: s.string().optional(),
        failurePolicy: failurePolicy.default("reinstall"),
        authSecret: named,
        authPassCredentials: s.boolean().optional(),
        insecureSkipTLSVerify: s.boolean().optional(),
        plainHTTP: s.boolean().optional(),
        dockerRegistrySecret: named,
        podSecurityContext: s.any().optional(),
        securityContext: s.any().optional(),
        driver: s
          .oneOf("secret", "configmap")
          .default("secret")
          .rule("!oldSelf.hasValue() || self == oldSelf.value()", {
            message: "driver is immutable after creation",
            optionalOldSelf: true,
          }),
      }),
      status: s
        .object({ jobName: s.string().optional(), conditions: s.list(condition, { keys: ["type"] }).optional() })
        .optional(),
      columns: {
        Repo: ".spec.repo",
        Chart: ".spec.chart",
        Version: ".spec.version",
        TargetNamespace: ".spec.targetNamespace",
        Bootstrap: { path: ".spec.bootstrap", type: "boolean" },
        Failed: '.status.conditions[?(@.type=="Failed")].status',
      },
    },
  },
})

export const helmchartconfig = defineCustomResource({
  group: GROUP,
  kind: "HelmChartConfig",
  plural: "helmchartconfigs",
  shortNames: ["hcc"],
  scope: "Namespaced",
  versions: {
    v1: {
      storage: true,
      spec: s.object({
        ...valueSources,
        failurePolicy: failurePolicy.optional(),
        serverSide: s.oneOf("true", "false", "auto").optional(),
        forceConflicts: s.boolean().optional(),
      }),
    },
  },
})

export const HelmChart = helmchart.kinds.v1
export type HelmChart = ObjectOf<typeof HelmChart>
export const HelmChartConfig = helmchartconfig.kinds.v1
export type HelmChartConfig = ObjectOf<typeof HelmChartConfig>

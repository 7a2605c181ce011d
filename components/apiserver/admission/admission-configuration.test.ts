import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readAdmissionConfiguration } from "./admission-configuration.ts"
import { checkNames } from "./optional-plugins.ts"

const dir = mkdtempSync(join(tmpdir(), "admission-"))
afterAll(() => rmSync(dir, { recursive: true }))

const HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"

function read(plugins: string) {
  const file = join(dir, "admission.yaml")
  writeFileSync(file, HEAD + plugins)
  return readAdmissionConfiguration(file)
}
/** The configuration of one plugin, whose first line is the sixth of the file. */
const plugin = (name: string, lines: string): string =>
  `- name: ${name}\n  configuration:\n${lines.replaceAll(/^/gm, "    ")}\n`

describe("an AdmissionConfiguration", () => {
  test("has the configurations of plugins, in it or in files beside it", () => {
    const beside = "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\nlimits:\n"
    writeFileSync(join(dir, "events.yaml"), `${beside}- {type: Server, qps: 1, burst: 2}\n`)
    const told = read(
      `- name: EventRateLimit\n  path: events.yaml\n${plugin(
        "PodNodeSelector",
        "podNodeSelectorPluginConfig:\n  clusterDefaultNodeSelector: env=dev",
      )}`,
    )
    expect(told.eventRateLimit).toMatchObject({ limits: [{ type: "Server", qps: 1, burst: 2 }] })
    expect(told.podNodeSelector).toEqual({ clusterDefaultNodeSelector: "env=dev" })
  })

  test.each([
    [
      "a plugin that is not there",
      "- name: SecurityContextDeny\n",
      ':4: plugins[0].name: Unsupported value: "SecurityContextDeny"',
    ],
    ["a plugin twice", "- name: PodSecurity\n- name: PodSecurity\n", ":5: plugins[1].name: Duplicate value"],
    [
      "a plugin without settings",
      plugin("LimitRanger", "a: b"),
      ":4: plugins[0]: LimitRanger has nothing to configure",
    ],
    ["a file that is not there", "- name: PodSecurity\n  path: none.yaml\n", ":5: plugins[0].path: ENOENT"],
    [
      "another kind",
      plugin("PodSecurity", "kind: Configuration"),
      ':6: plugins[0].configuration.kind: "Configuration" is not known here: it must have apiVersion: pod-security.',
    ],
    [
      "a field that is not known",
      plugin("ImagePolicyWebhook", "imagePolicy:\n  kubeConfigFile: /a\n  allowTtl: 3"),
      ":8: plugins[0].configuration.imagePolicy.allowTtl: this field is not known",
    ],
  ])("with %s is refused with the line", (_what, text, message) => {
    expect(() => read(text)).toThrow(message)
  })
})

/** Source of the cases: the tests of validation of each kind upstream. */
describe("the configuration of a plugin is refused", () => {
  const EVENTS = "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\n"
  const SECURITY = "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n"
  const TOLERATIONS = "apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\n"
  test.each([
    ["EventRateLimit", `${EVENTS}limits: []`, "limits: Invalid value: "],
    [
      "EventRateLimit",
      `${EVENTS}limits: [{type: unknown, qps: 1, burst: 1}]`,
      'limits[0].type: Unsupported value: "unknown"',
    ],
    [
      "EventRateLimit",
      `${EVENTS}limits: [{type: Server, burst: 5}]`,
      "limits[0].qps: Invalid value: 0: must be positive",
    ],
    [
      "EventRateLimit",
      `${EVENTS}limits: [{type: Server, qps: 5}]`,
      "limits[0].burst: Invalid value: 0: must be positive",
    ],
    [
      "EventRateLimit",
      `${EVENTS}limits: [{type: Namespace, qps: 1, burst: 1, cacheSize: -1}]`,
      "limits[0].cacheSize: Invalid value: -1: must not be negative",
    ],
    [
      "PodSecurity",
      `${SECURITY}defaults: {enforce: baslin}`,
      'defaults.enforce: Invalid value: "baslin": must be one of privileged, baseline, restricted',
    ],
    [
      "PodSecurity",
      `${SECURITY}defaults: {warn-version: "1.0"}`,
      'defaults.warn-version: Invalid value: "1.0": must be "latest" or "v1.x"',
    ],
    ["PodSecurity", `${SECURITY}exemptions: {namespaces: [a, a]}`, 'exemptions.namespaces[1]: Duplicate value: "a"'],
    ["PodSecurity", `${SECURITY}exemptions: {namespaces: [a.b]}`, 'exemptions.namespaces[0]: Invalid value: "a.b"'],
    [
      "PodSecurity",
      `${SECURITY}exemptions: {usernames: [""]}`,
      'exemptions.usernames[0]: Invalid value: "": username must not be empty',
    ],
    [
      "PodTolerationRestriction",
      `${TOLERATIONS}default: [{key: a, operator: X}]`,
      'default[0].operator: Unsupported value: "X": supported values: "Equal", "Exists"',
    ],
    ["PodTolerationRestriction", `${TOLERATIONS}default: [{value: v}]`, "default[0].operator: Invalid value: "],
    [
      "PodTolerationRestriction",
      `${TOLERATIONS}whitelist: [{key: k, operator: Exists, value: v}]`,
      "whitelist[0].operator: Invalid value: ",
    ],
    [
      "PodNodeSelector",
      "podNodeSelectorPluginConfig: {ns: nonsense}",
      "podNodeSelectorPluginConfig.ns: Invalid value: ",
    ],
    ["ImagePolicyWebhook", "imagePolicy: {}", "imagePolicy.kubeConfigFile: Required value"],
    [
      "ImagePolicyWebhook",
      "imagePolicy: {kubeConfigFile: /a, allowTTL: 9000}",
      "imagePolicy.allowTTL: Invalid value: 9000: valid value is between 1s and 30m0s",
    ],
    [
      "ResourceQuota",
      "apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\nlimitedResources: [{apiGroup: apps}]",
      "limitedResources[0].resource: Required value",
    ],
    [
      "MutatingAdmissionWebhook",
      "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\nkubeConfigFile: relative",
      'kubeConfigFile: Invalid value: "relative": must be an absolute file path',
    ],
  ])("%s: %j", (name, lines, message) => {
    expect(() => read(plugin(name, lines))).toThrow(message)
  })
})

describe("the flags of admission plugins are refused", () => {
  test.each([
    [{ enabled: ["PodPresets"], disabled: [] }, '--enable-admission-plugins: plugin "PodPresets" is unknown'],
    [
      { enabled: [], disabled: ["SecurityContextDeny"] },
      '--disable-admission-plugins: plugin "SecurityContextDeny" is unknown',
    ],
    [
      { enabled: ["AlwaysDeny"], disabled: ["AlwaysDeny"] },
      "[AlwaysDeny] in --enable-admission-plugins and --disable-admission-plugins overlapped",
    ],
    [
      { enabled: ["EventRateLimit"], disabled: [] },
      "the plugin needs a configuration in --admission-control-config-file",
    ],
  ])("%j", (options, message) => {
    expect(() => checkNames(options)).toThrow(message)
  })
})

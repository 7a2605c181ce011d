import { describe, expect, test } from "bun:test"
import { writeYaml } from "../../yaml/write.ts"
import { parseKubeconfig } from "./kubeconfig.ts"
import { kubeconfigObject } from "./write-kubeconfig.ts"

describe("parseKubeconfig", () => {
  test.each([
    { text: "a: [", message: "yaml: line 1: did not find expected node content" },
    { text: "- a", message: "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value" },
    {
      text: "kind: Foo",
      message:
        'no kind "Foo" is registered for version "v1" in scheme "k8s.io/client-go/tools/clientcmd/api/latest/latest.go:50"',
    },
    { text: "clusters: {a: b}", message: "json: cannot unmarshal object into Go struct field Config.clusters" },
  ])("refuses $text in client-go's words", ({ text, message }) => {
    expect(() => parseKubeconfig(text)).toThrow(message)
  })

  test("is written with its known fields only, and entries by name", () => {
    // given
    const text = "users:\n- name: b\n  user: {token: t, unknown: x}\n- name: a\n  user: {}\n"
    // then
    expect(writeYaml(kubeconfigObject(parseKubeconfig(text)))).toBe(`apiVersion: v1
clusters: null
contexts: null
current-context: ""
kind: Config
users:
- name: a
  user: {}
- name: b
  user:
    token: t
`)
  })

  test("lets programs of v1beta1 ask the user", () => {
    const text = "users:\n- name: a\n  user: {exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1}}\n"
    expect(parseKubeconfig(text).users.get("a")?.exec?.interactiveMode).toBe("IfAvailable")
  })
})

import { describe, expect, test } from "bun:test"
import { e, f, message } from "../apimachinery/fields.ts"
import { invalidValue, required } from "../apimachinery/validation/field-errors.ts"
import { parseConfiguration, type ConfigurationKind } from "./config-file.ts"

const Issuer = message("test.Issuer", "Who signs.", {
  url: f.string(1, "Its URL."),
  audiences: f.list(2, e.string, "For whom."),
})
const schema = message("test.SignInConfiguration", "Who may sign in.", {
  issuers: f.list(1, Issuer, "Who signs."),
  seconds: f.int32(2, "How long.").default(30),
})
const SignIn: ConfigurationKind<typeof schema> = {
  apiVersions: ["example.com/v1", "example.com/v1beta1"],
  kind: "SignInConfiguration",
  schema,
  validate: ({ issuers = [], seconds }) => [
    ...issuers.flatMap(({ url }, i) => (url === undefined ? [required(`issuers[${i}].url`, "name the issuer")] : [])),
    ...(seconds > 100 ? [invalidValue("seconds", seconds, "must be at most 100")] : []),
  ],
}
const read = (text: string) => parseConfiguration(text, "/etc/sign-in.yaml", [SignIn])
const HEAD = "apiVersion: example.com/v1\nkind: SignInConfiguration\n"

describe("a configuration file", () => {
  test("gives its value with defaults, in any version that is known", () => {
    const { value, apiVersion } = read(
      "apiVersion: example.com/v1beta1\nkind: SignInConfiguration\nissuers:\n- url: https://a\n",
    )
    expect(apiVersion).toBe("example.com/v1beta1")
    expect(value).toMatchObject({ issuers: [{ url: "https://a" }], seconds: 30 })
  })

  test.each([
    ["nothing", "", "/etc/sign-in.yaml: is empty"],
    ["no YAML", `${HEAD}issuers: [`, "/etc/sign-in.yaml:3: is not YAML: "],
    ["no map", "- a", "/etc/sign-in.yaml:1: must be a map with apiVersion and kind"],
    [
      "no kind",
      "apiVersion: example.com/v1",
      "/etc/sign-in.yaml:1: kind: is missing: this file must begin with apiVersion: example.com/v1, kind: SignInConfiguration or",
    ],
    [
      "an old version",
      "kind: SignInConfiguration\napiVersion: example.com/v1alpha1",
      '/etc/sign-in.yaml:2: apiVersion: "example.com/v1alpha1" is not known here: ',
    ],
    ["a key twice", `${HEAD}seconds: 1\nseconds: 2\n`, '/etc/sign-in.yaml:4: key "seconds" already set in map'],
    [
      "a field that is not known",
      `${HEAD}second: 1\n`,
      "/etc/sign-in.yaml:3: second: this field is not known; did you mean seconds?",
    ],
    [
      "such a field in a list",
      `${HEAD}issuers:\n- url: a\n- uri: b\n`,
      "/etc/sign-in.yaml:5: issuers[1].uri: this field is not known",
    ],
    ["a value of the wrong type", `${HEAD}seconds: soon\n`, "/etc/sign-in.yaml:3: json: cannot unmarshal string"],
    [
      "a value that the kind refuses",
      `${HEAD}seconds: 101\n`,
      "/etc/sign-in.yaml:3: seconds: Invalid value: 101: must be at most 100",
    ],
    [
      "a field that is missing",
      `${HEAD}issuers:\n- url: a\n- audiences: [b]\n`,
      "/etc/sign-in.yaml:5: issuers[1].url: Required value: name the issuer",
    ],
  ])("with %s is refused with file, line, field and mend", (_what, text, message) => {
    expect(() => read(text)).toThrow(message)
  })
})

import { expect, test } from "bun:test"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { decodeMessage } from "../../../../apimachinery/decoding/decode.ts"
import { annotationFaults } from "./pod-annotations-validation.ts"
import { PodSpec } from "./podspec.ts"
import { profileFaults } from "./profile-annotations.ts"

const spec = (securityContext: object): PodSpec =>
  decodeMessage(PodSpec, { containers: [{ name: "c", image: "i", securityContext }] }).object as PodSpec
const texts = (causes: readonly Cause[]) => causes.map(({ field, message }) => `${field}: ${message}`)
const [SECCOMP, APPARMOR] = [
  "container.seccomp.security.alpha.kubernetes.io/c",
  "container.apparmor.security.beta.kubernetes.io/",
]

test.each<[key: string, value: string, wanted: string[]]>([
  [SECCOMP, "localhost/a", []],
  [SECCOMP, "localhost//a", [`${SECCOMP}: Invalid value: "/a": must be a relative path`]],
  [SECCOMP, "none", [`${SECCOMP}: Invalid value: "none": must be a valid seccomp profile`]],
  [`${APPARMOR}c`, "localhost/a", []],
  [`${APPARMOR}x`, "", [`[${APPARMOR}x]: Invalid value: "x": container not found`]],
  [`${APPARMOR}c`, "a", [`[${APPARMOR}c]: Invalid value: "a": invalid AppArmor profile name: "a"`]],
  [
    "controller.kubernetes.io/pod-deletion-cost",
    "+1",
    ['[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer'],
  ],
])("the annotation %s: %s", (key, value, wanted) => {
  expect(texts(annotationFaults({ [key]: value }, spec({})))).toEqual(wanted)
})

test.each<[annotation: string, value: string, securityContext: object, wanted: string[]]>([
  [SECCOMP, "docker/default", { seccompProfile: { type: "RuntimeDefault" } }, []],
  [SECCOMP, "unconfined", { seccompProfile: { type: "RuntimeDefault" } }, ["seccompProfile.type"]],
  [
    SECCOMP,
    "localhost/a",
    { seccompProfile: { type: "Localhost", localhostProfile: "b" } },
    ["seccompProfile.localhostProfile"],
  ],
  [`${APPARMOR}c`, "docker/default", { appArmorProfile: { type: "RuntimeDefault" } }, ["appArmorProfile.type"]],
  [`${APPARMOR}c`, "localhost/a", { appArmorProfile: { type: "Localhost", localhostProfile: "a" } }, []],
  [
    `${APPARMOR}c`,
    "unconfined",
    { appArmorProfile: { type: "Localhost", localhostProfile: "a" } },
    ["appArmorProfile.type"],
  ],
])("%s: %s beside a field", (annotation, value, securityContext, wanted) => {
  const fields = profileFaults({ [annotation]: value }, spec(securityContext)).map(({ field }) => field)
  expect(fields).toEqual(wanted.map((field) => `containers[0].securityContext.${field}`))
})

/** Validating policies: their validations, messages, reasons, audit annotations and parameters. */
import { GADGET, POD, validating, type PolicyCase } from "./builders.ts"

const NAMED = { name: "$id-limits", parameterNotFoundAction: "Deny" }
const PARAM_KIND = { apiVersion: "v1", kind: "ConfigMap" }

export const validatingPolicies: readonly PolicyCase[] = [
  validating("holds", { validations: [{ expression: "object.data.size() == 1" }] }),
  validating("does not hold", { validations: [{ expression: "object.data.size() == 2" }] }),
  validating("has a message", { validations: [{ expression: "false", message: "  no more  " }] }),
  validating("makes its message", {
    validations: [{ expression: "false", messageExpression: "'a is ' + object.data.a", message: "x" }],
  }),
  validating("makes a message that fails", {
    validations: [{ expression: "false", messageExpression: "object.spec.a", message: "instead" }],
  }),
  validating("makes an empty message", { validations: [{ expression: "false", messageExpression: "' '" }] }),
  validating("makes a message of two lines", { validations: [{ expression: "false", messageExpression: "'a\\nb'" }] }),
  validating("has a reason", { validations: [{ expression: "false", reason: "Forbidden" }] }),
  validating("has another reason", { validations: [{ expression: "false", reason: "RequestEntityTooLarge" }] }),
  validating("fails", { validations: [{ expression: "object.spec.a == 1" }] }),
  validating("fails and is ignored", {
    failurePolicy: "Ignore",
    validations: [{ expression: "object.spec.a == 1" }, { expression: "true" }],
  }),
  validating("fails and another does not hold", {
    failurePolicy: "Ignore",
    validations: [{ expression: "object.spec.a == 1" }, { expression: "false", message: "second" }],
  }),
  validating("warns", { validations: [{ expression: "false" }] }, { binding: { validationActions: ["Warn"] } }),
  validating(
    "warns of two",
    { validations: [{ expression: "false", message: "one" }, { expression: "object.x" }] },
    { binding: { validationActions: ["Warn", "Audit"] } },
  ),
  validating("sees the namespace", { validations: [{ expression: "namespaceObject.metadata.name == 'x'" }] }),
  validating("sees the UID of the namespace", {
    validations: [{ expression: "namespaceObject.metadata.UID == 'x'", message: "another" }],
  }),
  validating("has a match condition about the namespace", {
    matchConditions: [{ name: "a", expression: "namespaceObject != null" }],
    validations: [{ expression: "false" }],
  }),
  validating("has a note about what the sender may do", {
    auditAnnotations: [{ key: "may", valueExpression: "authorizer.path('/x').check('get').allowed() ? 'yes' : 'no'" }],
  }),
  validating("has a message about what a variable found that asks for rights", {
    variables: [{ name: "may", expression: "authorizer.path('/x').check('get').allowed()" }],
    validations: [
      { expression: "!variables.may", messageExpression: "'may: ' + string(variables.may)", message: "fell back" },
    ],
  }),
  validating("has a note that fails", { auditAnnotations: [{ key: "x", valueExpression: "object.spec.a" }] }),
  validating("has a note that fails and is ignored", {
    failurePolicy: "Ignore",
    auditAnnotations: [{ key: "x", valueExpression: "object.spec.a" }],
  }),
  validating(
    "has parameters",
    {
      paramKind: PARAM_KIND,
      validations: [{ expression: "object.data.a < params.data.x", messageExpression: "'under ' + params.data.x" }],
    },
    { params: { limits: { x: "0" } }, binding: { paramRef: NAMED } },
  ),
  validating(
    "has parameters that are not there",
    { paramKind: PARAM_KIND, validations: [{ expression: "true" }] },
    { binding: { paramRef: NAMED } },
  ),
  validating("has parameters of a kind that is not there", {
    paramKind: { apiVersion: "no.example.com/v1", kind: "Nothing" },
    validations: [{ expression: "true" }],
  }),
  validating(
    "is asked about a deletion",
    { validations: [{ expression: "object == null && oldObject.data.a == '2'" }] },
    { operations: ["DELETE"], after: "DELETE" },
  ),
  validating("is asked about an update", { validations: [{ expression: "oldObject == null" }] }, { after: "PUT" }),
  validating("sees a custom object", { validations: [{ expression: "object.spec.color == 'red'" }] }, { on: GADGET }),
  validating("compares a custom object", { validations: [{ expression: "object.spec.size > 1" }] }, { on: GADGET }),
  validating(
    "sees defaults of a pod",
    { validations: [{ expression: "object.spec.dnsPolicy == 'Default'" }] },
    { on: POD },
  ),
]

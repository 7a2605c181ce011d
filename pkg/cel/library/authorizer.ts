import { isDNS1123Label, isDNS1123Subdomain } from "../../apimachinery/validation/names.ts"
import { AUTHORIZER, BOOL, DECISION, GROUP_CHECK, PATH_CHECK, RESOURCE_CHECK, STRING, type CelType } from "../type.ts"
import { CelError, OpaqueValue, type Value } from "../values/values.ts"
import { declare, member, type FunctionDeclaration } from "./declare.ts"

/** Functions that check the rights of a user. Source: apiserver pkg/cel/library/authz.go. */

/** An authorization check of a path or a resource. */
export type AuthorizationQuestion = {
  readonly verb: string
  /** Checks a service account instead of the user of the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
} & (
  | { readonly path: string }
  | {
      readonly group: string
      readonly resource: string
      readonly subresource: string
      readonly namespace: string
      readonly name: string
      /** Selectors as they were written; the authorizer parses them. */
      readonly fieldSelector?: string
      readonly labelSelector?: string
    }
)

export interface AuthorizationAnswer {
  readonly allowed: boolean
  readonly reason: string
  /** Why the check failed. */
  readonly error?: string
}

export type Authorize = (question: AuthorizationQuestion) => AuthorizationAnswer

type ServiceAccount = AuthorizationQuestion["serviceAccount"]

/** A value that is equal to itself only. */
abstract class Receiver extends OpaqueValue {
  equals(other: Value): boolean {
    return this === other
  }
}

/** The variable `authorizer`. */
export class AuthorizerValue extends Receiver {
  readonly type: CelType = AUTHORIZER
  readonly authorize: Authorize
  readonly serviceAccount: ServiceAccount
  constructor(authorize: Authorize, serviceAccount?: ServiceAccount) {
    super()
    this.authorize = authorize
    this.serviceAccount = serviceAccount
  }
  ask(question: AuthorizationQuestion): DecisionValue {
    const { serviceAccount } = this
    return new DecisionValue(this.authorize({ ...question, ...(serviceAccount && { serviceAccount }) }))
  }
}

class PathCheck extends Receiver {
  readonly type: CelType = PATH_CHECK
  readonly authorizer: AuthorizerValue
  readonly path: string
  constructor(authorizer: AuthorizerValue, path: string) {
    super()
    this.authorizer = authorizer
    this.path = path
  }
}

class GroupCheck extends Receiver {
  readonly type: CelType = GROUP_CHECK
  readonly authorizer: AuthorizerValue
  readonly group: string
  constructor(authorizer: AuthorizerValue, group: string) {
    super()
    this.authorizer = authorizer
    this.group = group
  }
}

interface ResourceAttributes {
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly fieldSelector?: string
  readonly labelSelector?: string
}

/** Also the variable `authorizer.requestResource`. */
export class ResourceCheck extends Receiver {
  readonly type: CelType = RESOURCE_CHECK
  readonly authorizer: AuthorizerValue
  readonly attributes: ResourceAttributes
  constructor(authorizer: AuthorizerValue, attributes: ResourceAttributes) {
    super()
    this.authorizer = authorizer
    this.attributes = attributes
  }
}

class DecisionValue extends Receiver {
  readonly type: CelType = DECISION
  readonly answer: AuthorizationAnswer
  constructor(answer: AuthorizationAnswer) {
    super()
    this.answer = answer
  }
}

function serviceAccount({ authorize }: AuthorizerValue, namespace: string, name: string): Value {
  if (isDNS1123Subdomain(name) !== undefined) return new CelError("Invalid service account name")
  if (isDNS1123Label(namespace) !== undefined) return new CelError("Invalid service account namespace")
  return new AuthorizerValue(authorize, { namespace, name })
}

function resource({ authorizer, group }: GroupCheck, name: string): Value {
  if (name.trim() === "") return new CelError("resource must not be empty")
  return new ResourceCheck(authorizer, { group, resource: name, subresource: "", namespace: "", name: "" })
}

/** Declares a function that adds one attribute to a check. */
const attribute = (
  name: string,
  id: string,
  key: "subresource" | "namespace" | "name" | "fieldSelector" | "labelSelector",
): FunctionDeclaration =>
  declare(name, [
    member(
      id,
      [RESOURCE_CHECK, STRING],
      RESOURCE_CHECK,
      ({ authorizer, attributes }: ResourceCheck, value: string) =>
        new ResourceCheck(authorizer, { ...attributes, [key]: value }),
    ),
  ])

export const AUTHORIZER_FUNCTIONS: readonly FunctionDeclaration[] = [
  declare("path", [
    member("authorizer_path", [AUTHORIZER, STRING], PATH_CHECK, (authorizer: AuthorizerValue, path: string) =>
      path.trim() === "" ? new CelError("path must not be empty") : new PathCheck(authorizer, path),
    ),
  ]),
  declare("group", [
    member(
      "authorizer_group",
      [AUTHORIZER, STRING],
      GROUP_CHECK,
      (authorizer: AuthorizerValue, group: string) => new GroupCheck(authorizer, group),
    ),
  ]),
  declare("serviceAccount", [
    member("authorizer_serviceaccount", [AUTHORIZER, STRING, STRING], AUTHORIZER, serviceAccount),
  ]),
  declare("resource", [member("groupcheck_resource", [GROUP_CHECK, STRING], RESOURCE_CHECK, resource)]),
  attribute("subresource", "resourcecheck_subresource", "subresource"),
  attribute("namespace", "resourcecheck_namespace", "namespace"),
  attribute("name", "resourcecheck_name", "name"),
  attribute("fieldSelector", "authorizer_fieldselector", "fieldSelector"),
  attribute("labelSelector", "authorizer_labelselector", "labelSelector"),
  declare("check", [
    member("pathcheck_check", [PATH_CHECK, STRING], DECISION, ({ authorizer, path }: PathCheck, verb: string) =>
      authorizer.ask({ verb, path }),
    ),
    member(
      "resourcecheck_check",
      [RESOURCE_CHECK, STRING],
      DECISION,
      ({ authorizer, attributes }: ResourceCheck, verb: string) => authorizer.ask({ verb, ...attributes }),
    ),
  ]),
  declare("errored", [
    member("decision_errored", [DECISION], BOOL, ({ answer }: DecisionValue) => answer.error !== undefined),
  ]),
  declare("error", [member("decision_error", [DECISION], STRING, ({ answer }: DecisionValue) => answer.error ?? "")]),
  declare("allowed", [member("decision_allowed", [DECISION], BOOL, ({ answer }: DecisionValue) => answer.allowed)]),
  declare("reason", [member("decision_reason", [DECISION], STRING, ({ answer }: DecisionValue) => answer.reason)]),
]

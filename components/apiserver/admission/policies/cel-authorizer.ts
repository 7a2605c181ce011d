import {
  AuthorizerValue,
  ResourceCheck,
  type AuthorizationAnswer,
  type AuthorizationQuestion,
} from "../../../../pkg/cel/library/authorizer.ts"
import type { Decider } from "../../authorization/authorizer.ts"
import type { AuthorizationDecision, UserInfo } from "../../call/request.ts"
import type { AdmissionAttributes } from "../admission.ts"

/**
 * Returns the variables `authorizer` and `authorizer.requestResource`, by which an expression checks the rights of the
 * user who sent the request, or of a service account. Source: apiserver pkg/cel/library/authz.go.
 */
export function authorizerVariables(
  decider: Decider,
  { user, resource, subresource = "", namespace = "", name }: AdmissionAttributes,
): Readonly<Record<string, unknown>> {
  const value = new AuthorizerValue((question) => answerOf(decider.authorize(requestFor(question, user))))
  return {
    authorizer: value,
    "authorizer.requestResource": new ResourceCheck(value, {
      group: resource.group,
      resource: resource.plural,
      subresource,
      namespace,
      name,
    }),
  }
}

const answerOf = ({ allowed, reason, error }: AuthorizationDecision): AuthorizationAnswer => ({
  allowed,
  reason,
  ...(error === undefined ? {} : { error: error.message }),
})

function requestFor(question: AuthorizationQuestion, sender: UserInfo) {
  const user = question.serviceAccount === undefined ? sender : serviceAccountUser(question.serviceAccount)
  if ("path" in question) return { user, verb: question.verb, path: question.path }
  const { verb, group, resource, subresource, namespace, name, fieldSelector } = question
  return {
    user,
    verb,
    group,
    version: "*",
    resource,
    subresource: subresource === "" ? undefined : subresource,
    namespace: namespace === "" ? undefined : namespace,
    name: name === "" ? undefined : name,
    fieldSelector,
  }
}

const serviceAccountUser = ({ namespace, name }: { readonly namespace: string; readonly name: string }): UserInfo => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
})

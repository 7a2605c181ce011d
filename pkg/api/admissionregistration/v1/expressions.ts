import type { Cause } from "../../../apimachinery/errors.ts"
import { internalFault, invalidValue } from "../../../apimachinery/validation/field-errors.ts"
import { compile } from "../../../cel/compile.ts"
import type { Program } from "../../../cel/program.ts"
import { formatIssues } from "../../../cel/syntax/issue.ts"
import {
  AUTHORIZER,
  BOOL,
  DYN,
  formatType,
  INT,
  listOf,
  mapOf,
  objectOf,
  RESOURCE_CHECK,
  sameType,
  STRING,
  TIMESTAMP,
  type CelField,
  type CelType,
} from "../../../cel/type.ts"

/**
 * What an admission expression may use: the object before and after, the request, the namespace, and depending on its
 * purpose parameters, an authorizer and variables. Source: apiserver pkg/admission/plugin/cel/compile.go.
 */
export interface ExpressionScope {
  readonly hasParams: boolean
  readonly hasAuthorizer: boolean
  /** Types of the policy's variables that are declared before this expression; undefined where there are none. */
  readonly variables?: VariableTypes
  /** Whether the expression returns a mutation, and may use the types of mutations. */
  readonly makesPatches?: boolean
}

export interface CompiledExpression {
  readonly program: Program
  readonly resultType: CelType
}

const KIND = objectOf("kubernetes.GroupVersionKind", { group: STRING, version: STRING, kind: STRING })
const RESOURCE = objectOf("kubernetes.GroupVersionResource", { group: STRING, version: STRING, resource: STRING })
const USER = objectOf("kubernetes.UserInfo", {
  username: STRING,
  uid: STRING,
  groups: listOf(STRING),
  extra: mapOf(STRING, listOf(STRING)),
})
const REQUEST = objectOf("kubernetes.AdmissionRequest", {
  kind: KIND,
  resource: RESOURCE,
  subResource: STRING,
  requestKind: KIND,
  requestResource: RESOURCE,
  requestSubResource: STRING,
  name: STRING,
  namespace: STRING,
  operation: STRING,
  userInfo: USER,
  dryRun: BOOL,
  options: DYN,
})
const NAMESPACE = objectOf("kubernetes.Namespace", {
  metadata: objectOf("kubernetes.NamespaceMetadata", {
    name: STRING,
    generateName: STRING,
    namespace: STRING,
    labels: mapOf(STRING, STRING),
    annotations: mapOf(STRING, STRING),
    UID: STRING,
    creationTimestamp: TIMESTAMP,
    deletionGracePeriodSeconds: INT,
    deletionTimestamp: TIMESTAMP,
    generation: INT,
    resourceVersion: STRING,
    finalizers: listOf(STRING),
  }),
  spec: objectOf("kubernetes.NamespaceSpec", { finalizers: listOf(STRING) }),
  status: objectOf("kubernetes.NamespaceStatus", {
    conditions: listOf(
      objectOf("kubernetes.NamespaceCondition", {
        status: STRING,
        type: STRING,
        lastTransitionTime: TIMESTAMP,
        message: STRING,
        reason: STRING,
      }),
    ),
    phase: STRING,
  }),
})

/** The variables of a policy so far, as the fields of the variable `variables`. */
export class VariableTypes {
  readonly #fields = new Map<string, CelField>()
  /** Gets a field for each variable that is added. */
  readonly type: CelType = objectOf("kubernetes.variables", this.#fields)
  /** Adds a variable, which later expressions can use. */
  add(name: string, type: CelType): void {
    this.#fields.set(name, { type: plainType(type), property: name })
  }
}

/**
 * Returns the type of a variable for other expressions, in which objects have no known fields. Source:
 * plugin/cel/composition.go convertCelTypeToDeclType.
 */
function plainType(type: CelType): CelType {
  const [first, second] = type.params
  switch (type.kind) {
    case "list":
      return listOf(plainType(first!))
    case "map":
      return mapOf(plainType(first!), plainType(second!))
    case "bool":
    case "bytes":
    case "double":
    case "duration":
    case "int":
    case "null":
    case "string":
    case "timestamp":
    case "uint":
      return type
    default:
      return DYN
  }
}

const typesIn = ({ hasParams, hasAuthorizer, variables }: ExpressionScope): Readonly<Record<string, CelType>> => ({
  object: { ...DYN, nullable: true },
  oldObject: { ...DYN, nullable: true },
  namespaceObject: { ...NAMESPACE, nullable: true },
  request: REQUEST,
  ...(hasParams ? { params: { ...DYN, nullable: true } } : {}),
  ...(hasAuthorizer ? { authorizer: AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK } : {}),
  ...(variables === undefined ? {} : { variables: variables.type }),
})

/** The prefix of the error of an expression that compiles but can never be evaluated. */
const NEVER_RUNS = "program instantiation failed: "

/**
 * Compiles an expression whose result must have one of the types, or any type when none are given. Returns upstream's
 * message for an invalid expression.
 */
export function compileExpression(
  expression: string,
  scope: ExpressionScope,
  results: readonly CelType[] = [],
): CompiledExpression | string {
  const compiled = compile(expression, { variables: typesIn(scope), mutations: scope.makesPatches === true })
  if ("stage" in compiled)
    return compiled.stage === "compilation"
      ? `compilation failed: ${formatIssues(compiled.issues, expression)}`
      : `${NEVER_RUNS}${compiled.issues[0]?.message ?? ""}`
  const { program, resultType } = compiled
  if (results.length === 0 || results.some((type) => sameType(type, resultType))) return { program, resultType }
  const got = formatType(resultType)
  return results.length === 1
    ? `must evaluate to ${formatType(results[0]!)} but got ${got}`
    : `must evaluate to one of [${results.map(({ name }) => name).join(" ")}] but got ${got}`
}

/** Returns the faults of an expression at a path. */
export function expressionFaults(
  path: string,
  expression: string,
  scope: ExpressionScope,
  results: readonly CelType[] = [],
): readonly Cause[] {
  const compiled = compileExpression(expression, scope, results)
  return typeof compiled === "string" ? [expressionFault(path, expression, compiled)] : []
}

/** Returns the cause for an expression at a path that does not compile. Source: convertCELErrorToValidationError. */
export const expressionFault = (path: string, expression: string, why: string): Cause =>
  why.startsWith(NEVER_RUNS) ? internalFault(path, why) : invalidValue(path, expression, why)

/** The types of objects for the type checker of policies; dyn when unknown. */
export interface KnownTypes {
  readonly object: CelType
  /** Undefined when the policy has no parameters. */
  readonly params: CelType | undefined
  readonly variables: VariableTypes
}

/**
 * Compiles an expression with the types of the objects that it reads. Returns the type of its result, or the message
 * for an invalid expression. Source: policy/validating/typechecking.go.
 */
export function checkTypes(expression: string, { object, params, variables }: KnownTypes): CelType | string {
  const compiled = compile(expression, {
    variables: {
      object,
      oldObject: object,
      namespaceObject: NAMESPACE,
      request: REQUEST,
      ...(params === undefined ? {} : { params }),
      authorizer: AUTHORIZER,
      variables: variables.type,
    },
  })
  if ("program" in compiled) return compiled.resultType
  return compiled.stage === "compilation" ? formatIssues(compiled.issues, expression) : DYN
}

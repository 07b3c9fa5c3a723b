<?php
// Sends requests as Appwrite's SDK for PHP does: json_encode makes [] of an empty array, http_build_query makes 1 and 0 of booleans.
[, $endpoint, $project] = $argv;
$key = getenv('WORLD_KEY');

function call(string $method, string $path, array $params = [], array $headers = []): array
{
    global $endpoint, $project;
    $url = $endpoint . $path;
    $lines = ["X-Appwrite-Project: $project", ...$headers];
    $options = ['method' => $method, 'ignore_errors' => true];
    if ($method === 'GET') {
        $url .= $params === [] ? '' : '?' . http_build_query($params);
    } else {
        $lines[] = 'Content-Type: application/json';
        $options['content'] = json_encode($params);
    }
    $text = file_get_contents($url, false, stream_context_create(['http' => [...$options, 'header' => $lines]]));
    preg_match('~ (\d+)~', $http_response_header[0], $status);
    return [(int) $status[1], json_decode($text, true)];
}

function expect(int $status, array $answer): array
{
    if ($answer[0] !== $status) {
        fwrite(STDERR, "expected $status: " . json_encode($answer) . "\n");
        debug_print_backtrace();
        exit(1);
    }
    return $answer[1] ?? [];
}

function same(mixed $expected, mixed $actual): void
{
    if ($expected !== $actual) {
        fwrite(STDERR, json_encode($expected) . ' is not ' . json_encode($actual) . "\n");
        debug_print_backtrace();
        exit(1);
    }
}

$server = ["X-Appwrite-Key: $key"];
$person = ['userId' => 'unique()', 'email' => 'php@mail.example', 'password' => 'a fine password'];
$user = expect(201, call('POST', '/account', $person));
$session = expect(201, call('POST', '/account/sessions/email', ['email' => $person['email'], 'password' => $person['password']]));
$own = ['X-Appwrite-Session: ' . $session['secret']];
same([], expect(200, call('PATCH', '/account/prefs', ['prefs' => []], $own))['prefs']);
expect(201, call('POST', '/account/jwts', [], $own));

expect(201, call('POST', '/databases', ['databaseId' => 'php', 'name' => 'PHP', 'enabled' => true], $server));
$tables = '/tablesdb/php/tables';
expect(201, call('POST', $tables, ['tableId' => 'posts', 'name' => 'Posts', 'permissions' => [], 'rowSecurity' => false], $server));
expect(202, call('POST', "$tables/posts/columns/string", ['key' => 'title', 'size' => '49', 'required' => false], $server));
expect(201, call('POST', "$tables/posts/rows", ['rowId' => 'one', 'data' => []], $server));
same(null, expect(200, call('PATCH', "$tables/posts/rows/one", ['data' => []], $server))['title']);
$queries = [json_encode(['method' => 'isNull', 'attribute' => 'title'])];
foreach ([[true, 1], [false, 0]] as [$total, $count]) {
    $list = expect(200, call('GET', "$tables/posts/rows", ['queries' => $queries, 'total' => $total], $server));
    same([$count, 1], [$list['total'], count($list['rows'])]);
}
expect(204, call('DELETE', "$tables/posts/rows/one", [], $server));
expect(204, call('DELETE', '/account/sessions/current', [], $own));

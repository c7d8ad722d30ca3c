%% Processes that each make a document of forty words, store it with its words in a table in place of an older one,
%% and answer with a checksum of both. One scheduler runs them all.
-module(requests).
-export([main/1]).

-define(AT_ONCE, 100).
-define(DOCUMENTS, 5000).

%% Prints how many documents there are in the end, and the sum of all answers.
main([Scale]) ->
    Table = ets:new(documents, [set, public]),
    Sum = rounds(Table, 50 * list_to_integer(Scale), 0),
    io:format("~b documents, checksum ~8.16.0b~n", [ets:info(Table, size), Sum]),
    erlang:halt(0).

rounds(_, 0, Sum) ->
    Sum;
rounds(Table, Round, Sum) ->
    Parent = self(),
    [spawn(fun() -> Parent ! request(Table, Round, Number) end) || Number <- lists:seq(1, ?AT_ONCE)],
    rounds(Table, Round - 1, answers(?AT_ONCE, Sum)).

answers(0, Sum) ->
    Sum;
answers(Left, Sum) ->
    receive Answer -> answers(Left - 1, (Sum + Answer) band 16#ffffffff) end.

request(Table, Round, Number) ->
    Seed = erlang:phash2({Round, Number}),
    Words = [word(erlang:phash2({Seed, Place})) || Place <- lists:seq(1, 40)],
    Document = iolist_to_binary(lists:join(<<" ">>, Words)),
    Key = {Number, Seed rem (?DOCUMENTS div ?AT_ONCE)},
    Older = ets:lookup(Table, Key),
    ets:insert(Table, {Key, Document, lists:usort(Words)}),
    erlang:phash2({Document, Older}).

word(Seed) ->
    binary:copy(<<($a + Seed rem 26), ($a + (Seed bsr 8) rem 26)>>, 2 + (Seed bsr 16) rem 6).
